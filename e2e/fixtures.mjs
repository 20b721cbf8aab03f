// Serves recorded answers of the GitHub API on a free port of 127.0.0.1 and
// prints its URL. The package's own command listens on all interfaces, and
// must be told its port beforehand.

import { createServer } from "node:http";
import express from "express";
import fixtures from "@octokit/fixtures-server";

const app = express();
const server = createServer(app);
server.listen(0, "127.0.0.1", () => {
  const fixturesUrl = `http://127.0.0.1:${server.address().port}`;
  app.use(fixtures({ fixturesUrl, logLevel: "silent", ttl: 3_600_000 }));
  console.log(fixturesUrl);
});
