// A model that says what a test wants. It speaks OpenAI's chat completions over HTTP, so all between it and the page is the real thing.
// One model serves all executions of a file: each prompt names its scene, and the scene plays its answers.

import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** A gate that a test holds shut until it has seen what it wanted to see. */
export class Gate {
  #open;
  passed = new Promise((resolve) => (this.#open = resolve));

  open() {
    this.#open();
  }
}

export class Model {
  #server;
  #scenes = new Map();

  static async up() {
    const model = new Model();
    model.#server = createServer((request, response) => void model.#answer(request, response).catch(() => response.destroy()));
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    model.#server.unref();
    model.url = `http://127.0.0.1:${model.#server.address().port}/v1`;
    return model;
  }

  async down() {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /**
   * Makes a scene, and returns the word that a prompt names it by. play(answer, conversation, step) plays one answer;
   * step counts the answers and results of tools so far, from 0, so that a scene can go on by its place in the talk.
   */
  scene(play) {
    const name = `scene${this.#scenes.size + 1}x`;
    this.#scenes.set(name, play);
    return name;
  }

  async #answer(request, response) {
    if (request.method === "GET") return void response.end('{"object":"list","data":[{"id":"m","object":"model"}]}');
    const { messages } = JSON.parse(await text(request));
    const answer = new Answer(response);
    const said = messages.filter((message) => message.role === "user").map((message) => contentOf(message));
    const name = said.flatMap((one) => one.match(/scene\d+x/g) ?? []).at(-1);
    const play = this.#scenes.get(name);
    if (play === undefined) answer.say("I have no such scene.");
    else await play(answer, messages, messages.filter((message) => message.role === "assistant").length);
    answer.end();
  }
}

/** The text of a message, in whichever of its forms. */
export function contentOf(message) {
  return typeof message?.content === "string" ? message.content : (message?.content ?? []).map((part) => part.text ?? "").join("");
}

/** The stream of one answer. */
class Answer {
  #response;
  #calls = 0;

  constructor(response) {
    this.#response = response;
  }

  /** Whether the other side has hung up. */
  get gone() {
    return this.#response.destroyed;
  }

  /** Until the other side has hung up. */
  get closed() {
    return this.gone ? Promise.resolve() : once(this.#response, "close");
  }

  say(text) {
    this.#chunk({ role: "assistant", content: text });
  }

  think(text) {
    this.#chunk({ reasoning_content: text });
  }

  /** Says a text in pieces of so many characters, with so many milliseconds between them. */
  async speak(text, { size = 8, pace = 5 } = {}) {
    const letters = [...text];
    for (let at = 0; at < letters.length && !this.gone; at += size) {
      this.say(letters.slice(at, at + size).join(""));
      await sleep(pace);
    }
  }

  /** Asks for a tool. */
  call(name, args) {
    const index = this.#calls++;
    const asked = { name, arguments: typeof args === "string" ? args : JSON.stringify(args) };
    this.#chunk({ tool_calls: [{ index, id: `call-${index}`, type: "function", function: asked }] });
  }

  /** Answers with an error in place of a stream; nothing may have been said before. */
  refuse(status, message) {
    this.#response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify({ error: { message } }));
  }

  end() {
    if (this.#response.writableEnded || this.gone) return;
    this.#chunk({}, this.#calls > 0 ? "tool_calls" : "stop");
    const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
    this.#response.end(`data: ${JSON.stringify({ ...frame, choices: [], usage })}\n\ndata: [DONE]\n\n`);
  }

  #chunk(delta, finish = null) {
    if (!this.#response.headersSent) this.#response.writeHead(200, { "Content-Type": "text/event-stream" });
    this.#response.write(`data: ${JSON.stringify({ ...frame, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
  }
}

const frame = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };
