// In which order the inbox shows its cards: those of one tree of executions together, below its root. What is there already never moves, so a later
// question of a tree joins it only where the tree is the last in the list; else it comes at the end, below the name of its root once more. Pure.

/** The order of one visit of the inbox. */
export class Trees {
  #runs = []; // cards of one tree that stand together: {key, root, head, ids}
  #made = 0;

  /**
   * @param {{approval: object}[]} entries in the order in which they were asked
   * @returns {object[]} rows: {key, entry} is a card; {key, head: {root, name, asked}} stands above the cards of a tree
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

  /** What comes at the same time is grouped; of trees, the one that asked first comes first. */
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

/** Above a card that is there nothing can come any more: so it depends on those that come first whether their tree has a head. */
function headOf(root, group) {
  const first = group.find(({ path }) => Array.isArray(path) && path.length > 0)?.path[0];
  return first === undefined ? undefined : { root, name: first.name, asked: first.asked };
}
