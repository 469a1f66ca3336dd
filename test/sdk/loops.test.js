// Clients that call the tools themselves and keep the state of a vendor between the rounds and turns, each in its own way.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { bash, mocks, refused, result } from "./mock.js";

let vendors;
before(async () => (vendors = await mocks()));
after(() => vendors.stop());

const tools = { bash: tool({ description: bash.description, inputSchema: jsonSchema(bash.schema), execute: (_, { toolCallId }) => result(toolCallId) }) };

const clients = {
  // Of other models than V4 it sends no thoughts of earlier turns, which https://api-docs.deepseek.com/guides/thinking_mode#tool-calls wants.
  "@ai-sdk/deepseek": { dialect: "deepseek", name: "deepseek-v4", of: (settings) => createDeepSeek(settings) },
  // Of an answer that came at once and calls nothing, it sends the first thought alone: the vendor recommends to send all.
  "@openrouter/ai-sdk-provider": { dialect: "openrouter", of: (settings) => createOpenRouter(settings), ways: [true] },
  "@ai-sdk/anthropic": {
    dialect: "anthropic",
    of: (settings) => createAnthropic(settings),
    options: { anthropic: { thinking: { type: "enabled", budgetTokens: 2000 } } },
  },
  "@ai-sdk/openai": {
    dialect: "openai-responses",
    of: (settings) => createOpenAI(settings).responses,
    options: { openai: { store: false, include: ["reasoning.encrypted_content"], forceReasoning: true } },
  },
};

for (const [client, { dialect, name, of, options, ways = [false, true] }] of Object.entries(clients)) {
  for (const streamed of ways) {
    test(`${client}, ${streamed ? "streamed" : "at once"}`, async () => {
      const { model, baseURL } = vendors.model(dialect, name);
      const asked = of({ apiKey: "k", baseURL })(model);
      const messages = [];
      const send = async (list) => {
        const request = { model: asked, messages: list, tools, stopWhen: stepCountIs(5), maxRetries: 0, maxOutputTokens: 8000, providerOptions: options };
        if (!streamed) return generateText(request);
        let failed;
        const answered = streamText({ ...request, onError: ({ error }) => (failed = error) });
        await answered.consumeStream();
        if (failed) throw failed;
        return { steps: await answered.steps, response: await answered.response };
      };
      for (let turn = 0; turn < 3; turn++) {
        messages.push({ role: "user", content: `Turn ${turn}.` });
        const { steps, response } = await send(messages);
        assert.deepEqual(steps.map((step) => step.toolCalls.length), [2, 1, 0]);
        messages.push(...response.messages);
      }
      const bare = messages.map(({ providerOptions, ...message }) => ({
        ...message,
        content: Array.isArray(message.content)
          ? message.content.filter((part) => part.type !== "reasoning").map(({ providerOptions, ...part }) => part)
          : message.content,
      }));
      bare.push({ role: "user", content: "And now?" });
      await refused(send(bare));
    });
  }
}

// OpenAI's own runner keeps the fields that OpenAI has, and no other vendor's.
for (const stream of [false, true]) {
  test(`openai runTools, ${stream ? "streamed" : "at once"}`, async () => {
    const { model, baseURL } = vendors.model("openai");
    const client = new OpenAI({ apiKey: "k", baseURL, maxRetries: 0 });
    const run = { name: bash.name, description: bash.description, parameters: bash.schema, parse: JSON.parse, function: ({ command }) => result(command) };
    let messages = [];
    for (let turn = 0; turn < 3; turn++) {
      const asked = [...messages, { role: "user", content: `Turn ${turn}.` }];
      const runner = client.chat.completions.runTools({ model, stream, tools: [{ type: "function", function: run }], messages: asked });
      await runner.done();
      const said = runner.messages.slice(messages.length).filter((message) => message.role === "assistant");
      assert.deepEqual(said.map((message) => message.tool_calls?.length ?? 0), [2, 1, 0]);
      messages = runner.messages;
    }
  });
}
