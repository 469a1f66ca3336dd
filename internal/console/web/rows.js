// The rows of a conversation, in the order in which they began. None goes away and none moves: a new one comes at the end.

/** Rows are items of the API (docs/items.md), and notices, which only the console has. */
export class Rows {
  list = [];
  changed = new Set(); // ids, by the event that is being taken
  event;
  #byId = new Map();

  /** Takes the next event: what is added and touched from here on is its doing. */
  begin(event) {
    this.event = event;
    this.changed = new Set();
  }

  add(row) {
    const { seq, time } = this.event;
    Object.assign(row, { firstSeq: seq, createdAt: time });
    this.list.push(row);
    this.#byId.set(row.id, row);
    return this.touch(row);
  }

  touch(row) {
    Object.assign(row, { lastSeq: this.event.seq, updatedAt: this.event.time });
    this.changed.add(row.id);
    return row;
  }

  get(id) {
    return this.#byId.get(id);
  }
}
