// The order of the cards in the inbox: cards of one tree of executions are grouped below its root. Shown cards never move, so a later question of a tree
// joins its group only if the group is the last one; otherwise it starts a new group at the end, with the name of the root again. Pure.

/** The order of one visit of the inbox. */
export class Trees {
  #runs = []; // groups of cards of one tree: {key, root, head, ids}
  #made = 0;

  /**
   * @param {{approval: object}[]} entries in the order in which they were asked
   * @returns {object[]} rows: {key, entry} is a card; {key, head: {root, name, asked}} is the head of a group
   */
  rows(entries) {
    const byId = new Map(entries.map((entry) => [entry.approval.id, entry]));
    this.#forget(byId);
    this.#add(entries.map(({ approval }) => approval));
    return this.#runs.flatMap(({ key, head, ids }) => [...(head ? [{ key, head }] : []), ...ids.map((id) => ({ key: id, entry: byId.get(id) }))]);
  }

  #forget(byId) {
    for (const run of this.#runs) run.ids = run.ids.filter((id) => byId.has(id));
    this.#runs = this.#runs.filter(({ ids }) => ids.length > 0);
  }

  /** New cards are grouped by tree, in the order of the first question of each tree. */
  #add(approvals) {
    const placed = new Set(this.#runs.flatMap(({ ids }) => ids));
    const fresh = new Map();
    for (const approval of approvals) {
      if (placed.has(approval.id)) continue;
      const root = approval.root ?? approval.executionId;
      fresh.set(root, [...(fresh.get(root) ?? []), approval]);
    }
    for (const [root, group] of fresh) this.#append(root, group);
  }

  #append(root, group) {
    const ids = group.map(({ id }) => id);
    const last = this.#runs.at(-1);
    if (last?.root === root) return void last.ids.push(...ids);
    this.#runs.push({ key: `tree ${++this.#made}`, root, head: headOf(root, group), ids });
  }
}

/** A head cannot be added above a shown card later, so the first cards decide whether their group has one. */
function headOf(root, group) {
  const first = group.find(({ path }) => Array.isArray(path) && path.length > 0)?.path[0];
  return first === undefined ? undefined : { root, name: first.name, asked: first.asked };
}
