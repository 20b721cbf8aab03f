// Serves PouchDB Server, which speaks CouchDB's protocol, with the database desk
// in memory on a free port of 127.0.0.1, and prints its URL. GET /stored, which is
// not CouchDB's, is what PouchDB itself has stored; PUT /bulk does many changes.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import expressPouchDB from "express-pouchdb";
import memory from "pouchdb-adapter-memory";
import PouchDB from "pouchdb-core";
import mapreduce from "pouchdb-mapreduce";
import replication from "pouchdb-replication";

// It takes the express that it was written for.
const express = createRequire(import.meta.resolve("express-pouchdb"))("express");
PouchDB.plugin(memory).plugin(mapreduce).plugin(replication);
const Memory = PouchDB.defaults({ adapter: "memory" });
const db = new Memory("desk");
const app = express();
app.get("/stored", async (req, res) => {
  const { results } = await db.changes({ include_docs: true });
  res.json(results.map(({ id, deleted, doc }) => ({ id, content: deleted ? "deleted" : doc.title })));
});
app.put("/bulk", express.json({ limit: "10mb" }), async (req, res) => {
  const known = new Map((await db.allDocs()).rows.map((row) => [row.id, row.value.rev]));
  res.json(await db.bulkDocs(req.body.map((doc) => (known.has(doc._id) ? { ...doc, _rev: known.get(doc._id) } : doc))));
});
app.use(expressPouchDB(Memory, { inMemoryConfig: true, mode: "minimumForPouchDB" }));
const server = createServer(app);
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
