// How an execution stands, as far as its log tells: status, turn and round, usage, plan, prompts that wait. Pure.

/** Takes events one by one; its members are what they amount to. */
export class Standing {
  status = "queued";
  statusReason = "";
  cause; // why it is interrupted; undefined in every other status
  turn = 0;
  rounds = 0; // answers of the model with tool calls, in this turn
  usage; // undefined: nothing was told
  model; // that was asked last
  agent; // what answers: {name, version, sandbox, resumable, mode, model, …}
  plan = []; // [{content, priority, status}]
  options = []; // that an external agent lets its user choose: [{id, category, current, choices, …}]
  commands = []; // of an external agent: [{name, description}]
  prompts = []; // that wait: [{promptId, text, by, …}]
  asked = new Set(); // approvals that are open
  below = new Set(); // approvals that are open, of executions below it
  ended; // the data of the terminal event
  endedAt;
  #round;

  take({ type, data, time }) {
    const take = Object.hasOwn(Standing.#takes, type) ? Standing.#takes[type] : undefined;
    take?.call(this, data, time);
  }

  static #takes = {
    "execution.stateChanged"(data) {
      this.status = data.to;
      this.statusReason = data.reason ?? "";
      this.cause = data.cause;
    },
    "turn.started"(data) {
      this.turn = data.turn;
      this.rounds = 0;
      this.#round = undefined;
      this.#forget(data.promptId);
    },
    "prompt.queued"(data) {
      this.prompts = [...this.prompts, data];
    },
    "prompt.discarded"(data) {
      this.#forget(data.promptId);
    },
    "toolCall.requested"(data) {
      if (data.messageId === this.#round) return;
      this.#round = data.messageId;
      this.rounds++;
    },
    "usage.updated"(data) {
      this.usage = data.usage;
      this.model = data.model || this.model;
    },
    "plan.updated"(data) {
      this.plan = Array.isArray(data.entries) ? data.entries : [];
    },
    "agent.started"(data) {
      this.agent = data;
    },
    "agent.modeChanged"(data) {
      this.agent = { ...this.agent, mode: data.mode };
    },
    "agent.optionsUpdated"(data) {
      this.options = Array.isArray(data.options) ? data.options.filter((one) => typeof one?.id === "string" && Array.isArray(one.choices)) : [];
      for (const { category, current } of this.options) {
        if (current && (category === "mode" || category === "model")) this.agent = { ...this.agent, [category]: current };
      }
    },
    "agent.commandsUpdated"(data) {
      const commands = data.update?.availableCommands;
      this.commands = Array.isArray(commands) ? commands.filter((one) => typeof one?.name === "string") : [];
    },
    "approval.requested"(data) {
      this.asked.add(data.approvalId);
    },
    "approval.resolved"(data) {
      this.asked.delete(data.approvalId);
    },
    "delegate.approvalRequested"(data) {
      this.below.add(data.approvalId);
    },
    "delegate.approvalResolved"(data) {
      this.below.delete(data.approvalId);
    },
    "execution.completed": Standing.prototype.end,
    "execution.failed": Standing.prototype.end,
    "execution.cancelled": Standing.prototype.end,
    "execution.timedOut": Standing.prototype.end,
  };

  /** Takes the terminal event. */
  end(data, time) {
    this.status = data.status;
    this.statusReason = "";
    this.ended = data;
    this.endedAt = time;
    this.usage = data.usage ?? this.usage;
    this.prompts = [];
    this.below.clear();
  }

  #forget(promptId) {
    this.prompts = this.prompts.filter((one) => one.promptId !== promptId);
  }
}
