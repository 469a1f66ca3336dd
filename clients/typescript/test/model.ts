import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** What the model is told of a conversation. */
export interface Message {
  role: string;
  content: string | null;
  tool_call_id?: string;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}

/** Plays one answer. The conversation is all that it knows. */
export type Script = (answer: Answer, conversation: Message[]) => Promise<void> | void;

/** A scripted server of OpenAI's chat completions on 127.0.0.1. */
export class Model {
  readonly #server;
  /** The conversations that it was sent, in order. */
  readonly conversations: Message[][] = [];
  /** What it answers from here on. */
  script: Script;
  url = "";

  private constructor(script: Script) {
    this.script = script;
    this.#server = createServer(async (request, response) => {
      if (request.method === "GET") return void response.end('{"object":"list","data":[{"id":"m","object":"model"}]}');
      const body = await text(request).catch(() => undefined);
      if (body === undefined) return; // it was killed while it asked
      const { messages } = JSON.parse(body) as { messages: Message[] };
      this.conversations.push(messages);
      const answer = new Answer(response);
      await this.script(answer, messages);
      answer.end();
    });
  }

  static async up(script: Script): Promise<Model> {
    const model = new Model(script);
    await new Promise<void>((resolve) => model.#server.listen(0, "127.0.0.1", resolve));
    model.#server.unref();
    model.url = `http://127.0.0.1:${(model.#server.address() as AddressInfo).port}/v1`;
    return model;
  }

  async down(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The stream of one answer. */
export class Answer {
  readonly #response: ServerResponse;
  #calls = 0;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Whether the other side has hung up. */
  get gone(): boolean {
    return this.#response.destroyed;
  }

  /** Until the other side has hung up. */
  get closed(): Promise<void> {
    return new Promise((resolve) => (this.gone ? resolve() : this.#response.once("close", resolve)));
  }

  /** Answers with an error in place of a stream; nothing may have been said before. */
  refuse(status: number): void {
    this.#response.writeHead(status, { "Content-Type": "application/json" }).end('{"error":{"message":"not today"}}');
  }

  say(text: string): void {
    this.#chunk({ role: "assistant", content: text });
  }

  think(text: string): void {
    this.#chunk({ reasoning_content: text });
  }

  /** Asks for a tool. */
  call(name: string, args: unknown): void {
    const index = this.#calls++;
    const asked = { name, arguments: JSON.stringify(args) };
    this.#chunk({ tool_calls: [{ index, id: `call-${index}`, type: "function", function: asked }] });
  }

  end(): void {
    if (this.#response.writableEnded) return;
    this.#chunk({}, this.#calls > 0 ? "tool_calls" : "stop");
    const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
    this.#response.end(`data: ${JSON.stringify({ ...frame, choices: [], usage })}\n\ndata: [DONE]\n\n`);
  }

  #chunk(delta: unknown, finish: string | null = null): void {
    if (!this.#response.headersSent) this.#response.writeHead(200, { "Content-Type": "text/event-stream" });
    this.#response.write(`data: ${JSON.stringify({ ...frame, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
  }
}

const frame = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };
