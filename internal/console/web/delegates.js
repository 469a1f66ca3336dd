// The children of an execution, from its log; each child has a log of its own. Pure; the same as the server's reducer makes of the same events: a child
// is shown under the call that has created it, and under each call that waits for it now.

/** Applies events about children, and shows the children by their calls. */
export class Delegates {
  #all = []; // {child, createdBy, awaited: ids of the other calls that wait for it, asked: ids of approvals that are open}
  #calls;

  constructor(calls) {
    this.#calls = calls;
  }

  #get(executionId) {
    return this.#all.find(({ child }) => child.executionId === executionId);
  }

  started({ executionId, name, toolCallId }, turn) {
    const one = { child: { executionId, name, status: "queued", pendingApprovals: 0 }, createdBy: toolCallId, awaited: new Set(), asked: new Set() };
    this.#all.push(one);
    this.#show(one, turn);
  }

  updated({ executionId, status, cause }, turn) {
    const one = this.#get(executionId);
    if (one === undefined) return;
    Object.assign(one.child, { status, cause: cause || undefined, error: undefined });
    this.#show(one, turn);
  }

  /** One of the children is on the path: that child asks, or an execution below it. */
  asked({ approvalId, path }, turn) {
    const steps = new Set((path ?? []).map((step) => step.executionId));
    const one = this.#all.find(({ child }) => steps.has(child.executionId));
    if (one === undefined) return;
    one.asked.add(approvalId);
    this.#show(one, turn);
  }

  answered({ approvalId }, turn) {
    const one = this.#all.find(({ asked }) => asked.delete(approvalId));
    if (one !== undefined) this.#show(one, turn);
  }

  /** If the child works again already, the result is an old one. */
  returned({ executionId, status, error }, turn) {
    const one = this.#get(executionId);
    if (one?.child.status !== status) return;
    one.child.error = error ?? undefined;
    this.#show(one, turn);
  }

  /** A call has begun to wait. The child that it creates itself follows with its own event. */
  awaited({ toolCallId, children = [] }, turn) {
    for (const id of children) {
      const one = this.#get(id);
      if (one === undefined || one.createdBy === toolCallId) continue;
      one.awaited.add(toolCallId);
      this.#calls.showChild(toolCallId, one.child, turn);
    }
  }

  /** A call has its outcome. Children that it only waited for are frozen there; the call that has created them still counts their approvals. */
  released({ toolCallId }, turn) {
    for (const one of this.#all) {
      if (one.awaited.delete(toolCallId)) this.#calls.showChild(toolCallId, { ...one.child, pendingApprovals: 0 }, turn);
    }
  }

  /** The end of an execution ends its children: their approvals are no longer pending. */
  end(turn) {
    for (const one of this.#all) {
      if (one.asked.size === 0) continue;
      one.asked.clear();
      this.#show(one, turn);
    }
  }

  #show(one, turn) {
    one.child.pendingApprovals = one.asked.size;
    for (const id of [one.createdBy, ...one.awaited]) this.#calls.showChild(id, one.child, turn);
  }
}
