// Serves json-server on a free port of 127.0.0.1 and prints its URL. Its own
// command must be told a port beforehand, and reads its file at the start only.
// PUT /fill, which is not json-server's, replaces all tickets.

import { createServer } from "node:http";
import jsonServer from "json-server";

const router = jsonServer.router({ tickets: [] });
const app = jsonServer.create();
app.use(jsonServer.defaults({ logger: false }));
app.put("/fill", jsonServer.bodyParser, (req, res) => {
  router.db.setState({ tickets: req.body });
  res.sendStatus(204);
});
app.use(router);
const server = createServer(app);
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
