// json-server's own command line over an empty database. Arguments: the directory of the packages, the directory of the
// server, the port.
const fs = require("fs");
const [packages, dir, port] = process.argv.slice(2);
fs.writeFileSync(dir + "/pid", String(process.pid));
fs.writeFileSync(dir + "/db.json", JSON.stringify({ posts: [] }));
process.argv.splice(2, 3, dir + "/db.json", "--host", "127.0.0.1", "--port", port, "--quiet");
require(packages + "/node_modules/json-server/lib/cli/bin");
