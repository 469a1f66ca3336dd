// Serves the example page on 127.0.0.1, and passes /api/ on to Signoff with a key that the page never sees.
//
//   SIGNOFF_URL, SIGNOFF_TOKEN      where Signoff is, and its key; without them the server of `make run`
//   PORT                            where the page is; 8090
//
// The key may do everything, so whoever reaches this proxy may. Hence the two questions below: a page of another origin, and
// a name that was made to point here, are turned away.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const signoff = new URL(process.env.SIGNOFF_URL ?? "http://127.0.0.1:8080");
const token = process.env.SIGNOFF_TOKEN ?? (await firstToken());
const page = await readFile(here("index.html"), "utf8");
const map = createHash("sha256").update(/<script type="importmap">([^]*?)<\/script>/.exec(page)[1]).digest("base64");

/** The key that the server of `make run` has left behind. */
async function firstToken() {
  const path = here("../../../data/token");
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    console.error(`There is no key: ${path} cannot be read (${error.code}). Start the server with \`make run\`, or set SIGNOFF_TOKEN.`);
    process.exit(1);
  }
}

/** Whether a browser sent this from the page itself, or somebody at this machine did. */
function ours({ headers }) {
  const { port } = server.address();
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  return hosts.includes(headers.host) && (headers.origin === undefined || hosts.includes(headers.origin.replace("http://", "")));
}

/** Passes a request on, and its answer back as it comes: a stream must not be held up. */
function proxy(incoming, answer) {
  const wanted = ["accept", "content-type", "content-length", "idempotency-key", "last-event-id", "prefer"];
  const headers = Object.fromEntries(wanted.filter((name) => name in incoming.headers).map((name) => [name, incoming.headers[name]]));
  headers.authorization = `Bearer ${token}`;
  const { hostname, port } = signoff;
  const outgoing = request({ hostname, port, path: incoming.url.slice("/api".length), method: incoming.method, headers }, (response) => {
    answer.writeHead(response.statusCode, response.headers);
    answer.flushHeaders();
    response.on("error", () => answer.destroy()).pipe(answer);
  });
  outgoing.on("error", () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
  answer.on("close", () => outgoing.destroy());
  incoming.pipe(outgoing);
}

const files = [
  [/^\/client\/([a-z]+\.js)$/, "../dist/", "text/javascript"],
  [/^\/example\/([a-z]+\.js)$/, "../build/example/", "text/javascript"],
  [/^\/(page\.css)$/, "./", "text/css"],
];

async function file(path, answer) {
  answer.setHeader("Content-Security-Policy", `default-src 'self'; script-src 'self' 'sha256-${map}'; frame-ancestors 'none'`);
  if (path === "/favicon.ico") return answer.writeHead(204).end();
  if (path === "/") return answer.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(page);
  for (const [pattern, folder, type] of files) {
    const name = pattern.exec(path)?.[1];
    const content = name && (await readFile(here(folder + name)).catch(() => undefined));
    if (content) return answer.writeHead(200, { "Content-Type": `${type}; charset=utf-8` }).end(content);
  }
  answer.writeHead(404).end();
}

const server = createServer((incoming, answer) => {
  if (!ours(incoming)) return answer.writeHead(403).end();
  if (incoming.url.startsWith("/api/")) return proxy(incoming, answer);
  return file(incoming.url, answer);
});
server.listen(Number(process.env.PORT ?? 8090), "127.0.0.1", () => console.log(`The page is at http://127.0.0.1:${server.address().port}`));
