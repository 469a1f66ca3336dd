// The vendors' own clients, with our mocks for servers: the mocks take what the clients make of a conversation, and refuse it without its state. So the mocks
// are not merely the mirror of our providers.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { Mistral } from "@mistralai/mistralai";
import { OpenRouter } from "@openrouter/sdk";
import Groq from "groq-sdk";
import OpenAI from "openai";
import { bash, converse, mocks, refused, result } from "./mock.js";

let vendors;
before(async () => (vendors = await mocks()));
after(() => vendors.stop());

const keys = { apiKey: "k", maxRetries: 0 };
const chatTool = { type: "function", function: { name: bash.name, description: bash.description, parameters: bash.schema } };

/** A client of chat completions: https://platform.openai.com/docs/guides/function-calling?api-mode=chat */
function chat(Client, dialect) {
  const { model, baseURL } = vendors.model(dialect);
  const client = new Client({ ...keys, baseURL });
  const messages = [{ role: "system", content: "You keep the servers." }];
  return {
    messages,
    send: (list) => client.chat.completions.create({ model, messages: list, tools: [chatTool] }),
    says: (content) => messages.push({ role: "user", content }),
    results: (calls) => calls.forEach((call) => messages.push({ role: "tool", tool_call_id: call.id, content: result(call.id) })),
    async ask() {
      const { message } = (await this.send(messages)).choices[0];
      messages.push(message);
      return message.tool_calls ?? [];
    },
  };
}

// What of a message is the vendor's state. OpenAI's chat completions have none but the calls themselves, with their ids.
const forgets = {
  openai: (message) => ({ ...message, tool_calls: message.tool_calls?.map((call) => ({ ...call, id: "another" })) }),
  gemini: (message) => ({ ...message, tool_calls: message.tool_calls?.map(({ extra_content, ...call }) => call) }),
  deepseek: ({ reasoning_content, ...message }) => message,
  kimi: ({ reasoning_content, ...message }) => message,
  glm: ({ reasoning_content, ...message }) => message,
  openrouter: ({ reasoning_details, ...message }) => message,
  groq: ({ reasoning, ...message }) => message,
  vllm: ({ reasoning, ...message }) => message,
};

for (const [dialect, forget] of Object.entries(forgets)) {
  test(`openai, ${dialect}`, async () => {
    const talk = chat(OpenAI, dialect);
    await converse(talk);
    talk.says("And now?");
    talk.results(await talk.ask());
    await refused(talk.send(talk.messages.map((message) => (message.role === "assistant" ? forget(message) : message))));
    await talk.ask();
  });
}

test("groq-sdk", async () => converse(chat(Groq, "groq")));

/** A client that writes the vendor's names its own way. complete sends a request and returns the completion. */
function camel(dialect, open) {
  const { model, baseURL } = vendors.model(dialect);
  const complete = open({ apiKey: "k", serverURL: baseURL, retryConfig: { strategy: "none" } });
  const messages = [];
  return {
    messages,
    send: (list) => complete({ model, messages: list, tools: [chatTool] }),
    says: (content) => messages.push({ role: "user", content }),
    results: (calls) => calls.forEach((call) => messages.push({ role: "tool", toolCallId: call.id, content: result(call.id) })),
    async ask() {
      const { message } = (await this.send(messages)).choices[0];
      messages.push(message);
      return message.toolCalls ?? [];
    },
  };
}

const texts = (content) => content.filter((chunk) => chunk.type === "text");

for (const [name, { dialect, open, forget }] of Object.entries({
  // https://docs.mistral.ai/capabilities/function_calling/
  "@mistralai/mistralai": {
    dialect: "mistral",
    open: (settings) => (request) => new Mistral(settings).chat.complete(request),
    forget: (message) => (message.role === "assistant" ? { ...message, content: texts(message.content) } : message),
  },
  // https://openrouter.ai/docs/guides/features/tool-calling
  "@openrouter/sdk": {
    dialect: "openrouter",
    open: (settings) => (chatRequest) => new OpenRouter(settings).chat.send({ chatRequest }),
    forget: ({ reasoningDetails, ...message }) => message,
  },
})) {
  test(name, async () => {
    const talk = camel(dialect, open);
    await converse(talk);
    talk.says("And now?");
    talk.results(await talk.ask());
    await refused(talk.send(talk.messages.map(forget)));
    await talk.ask();
  });
}

/** https://platform.claude.com/docs/en/build-with-claude/extended-thinking#extended-thinking-with-tool-use */
function claude(streamed) {
  const { model, baseURL } = vendors.model("anthropic");
  const client = new Anthropic({ ...keys, baseURL });
  const messages = [];
  const request = (list) => ({
    model,
    max_tokens: 8000,
    thinking: { type: "enabled", budget_tokens: 2000 },
    tools: [{ name: bash.name, description: bash.description, input_schema: bash.schema }],
    messages: list,
  });
  return {
    messages,
    send: (list) => (streamed ? client.messages.stream(request(list)).finalMessage() : client.messages.create(request(list))),
    says: (content) => messages.push({ role: "user", content }),
    results: (calls) =>
      messages.push({ role: "user", content: calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: result(call.id) })) }),
    async ask() {
      const { content } = await this.send(messages);
      messages.push({ role: "assistant", content });
      return content.filter((block) => block.type === "tool_use");
    },
  };
}

for (const streamed of [false, true]) {
  test(`@anthropic-ai/sdk, ${streamed ? "streamed" : "at once"}`, async () => {
    const talk = claude(streamed);
    await converse(talk);
    talk.says("And now?");
    talk.results(await talk.ask());
    const spoken = (content) => content.filter((block) => !block.type.endsWith("thinking"));
    await refused(talk.send(talk.messages.map((m) => (m.role === "assistant" ? { ...m, content: spoken(m.content) } : m))));
    await talk.ask();
  });
}

/** https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items */
function responses(streamed) {
  const { model, baseURL } = vendors.model("openai-responses");
  const client = new OpenAI({ ...keys, baseURL });
  const input = [];
  const tools = [{ type: "function", name: bash.name, description: bash.description, parameters: bash.schema, strict: true }];
  return {
    input,
    async send(list) {
      const asked = client.responses.create({ model, input: list, tools, store: false, include: ["reasoning.encrypted_content"], stream: streamed });
      if (!streamed) return asked;
      for await (const event of await asked) if (event.type === "response.completed") return event.response;
      throw new Error("the stream has ended without an answer");
    },
    says: (content) => input.push({ role: "user", content }),
    results: (calls) =>
      calls.forEach((call) => input.push({ type: "function_call_output", call_id: call.call_id, output: result(call.call_id) })),
    async ask() {
      const { output } = await this.send(input);
      input.push(...output);
      return output.filter((item) => item.type === "function_call");
    },
  };
}

for (const streamed of [false, true]) {
  test(`openai, responses, ${streamed ? "streamed" : "at once"}`, async () => {
    const talk = responses(streamed);
    await converse(talk);
    talk.says("And now?");
    talk.results(await talk.ask());
    await refused(talk.send(talk.input.filter((item) => item.type !== "reasoning")));
    await talk.ask();
  });
}
