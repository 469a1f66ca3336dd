// What waits for a person, for the whole tab: the count beside "Inbox", the cards of the inbox, the bell. It follows the feed of all executions
// and asks for each approval that the feed names; and it asks for all of them whenever the feed begins anew, since nobody knows what happened between
// two connections. What was decided stays, with the winner's name, until the page is left: nothing vanishes from under a finger.
//
// A browser has few connections for one host, and each tab that follows holds one. So a tab that nobody sees lets go after a while, but for
// the one that rings the bell.

import { Problem, approvalPath, get, sleep } from "./api.js";
import { forgetAskers } from "./asker.js";
import { bell } from "./notify.js";
import { followAll, isTerminal } from "./stream.js";

const pageSize = 50;
const unseenFor = 30_000;
const pollEvery = 15_000;
const mostOver = 1000;

class Pending {
  #entries = new Map(); // by id, in the order of asking
  #listeners = new Set();
  #cursor = null; // of the page behind those that are here
  #pages = 1;
  #problem = null;
  #loaded = false;
  #running = null; // the controller of all that runs for this token
  #following = null; // the controller of the stream
  #turn = null; // of the newest reading of the list
  #state = { name: "connecting" };
  #shell = null;
  #unseen;
  #retrying = false;
  #over = new Set(); // approvals and executions that are over, the latest: an answer that was slow may still call them pending

  /** Begins, now that there is a token. */
  start() {
    this.stop();
    this.#running = new AbortController();
    const { signal } = this.#running;
    document.addEventListener("visibilitychange", () => this.#seen(signal), { signal });
    bell.onChange(() => this.#seen(signal), signal);
    this.#follow();
    this.#seen(signal);
  }

  /** Ends all, and forgets what another token may not see. */
  stop() {
    this.#running?.abort();
    this.#following?.abort();
    this.#running = this.#following = this.#turn = this.#cursor = this.#problem = null;
    this.#state = { name: "connecting" };
    this.#entries.clear();
    this.#over.clear();
    forgetAskers();
    this.#pages = 1;
    this.#loaded = false;
    this.#changed();
  }

  /** Tells which page is open now. Its connection line says how the feed is, and with it go the cards that are decided. */
  connect(shell, signal) {
    this.#shell = shell;
    shell.connection("approvals", this.#state);
    signal.addEventListener("abort", () => this.clearDecided(), { once: true });
  }

  /** Calls back when something is different. Returns how to end that. */
  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** How many wait: {number, text}; the text has a plus where there are more. Where all of them are on pages that are not here, it is one at least. */
  count() {
    const number = this.#waiting().length;
    if (this.#cursor === null) return { number, text: String(number) };
    return number === 0 ? { number: 1, text: "more" } : { number, text: `${number}+` };
  }

  #waiting() {
    return this.entries().map(({ approval }) => approval).filter(({ status }) => status === "pending");
  }

  /** [{approval, fresh}], in the order in which they were asked. */
  entries() {
    return [...this.#entries.values()];
  }

  /** Whether the first page is here. */
  get loaded() {
    return this.#loaded;
  }

  /** Whether there is another page. */
  get hasMore() {
    return this.#cursor !== null;
  }

  /** Why the feed stopped, or null. The list is asked for all the same, only later. */
  get halted() {
    return this.#state.name === "failed" ? this.#state.problem : null;
  }

  /** Why the list could not be read, or null. */
  get problem() {
    return this.#problem;
  }

  /** Gets the next page. */
  async more() {
    this.#pages++;
    await this.#load(false);
  }

  /** Takes a newer state of an approval. What is decided stays so, whichever answer was slower. */
  take(approval, fresh = false) {
    const known = this.#entries.get(approval.id);
    if (known === undefined && approval.status !== "pending") return;
    if (known !== undefined && known.approval.status !== "pending") return;
    if (approval.status !== "pending") this.#end(approval.id);
    else if (known === undefined && this.#isOver(approval)) return void this.#again(approval.id, fresh);
    this.#entries.set(approval.id, { approval, fresh: known?.fresh ?? fresh });
    if (fresh && known === undefined) bell.ring(approval);
    if (approval.status !== "pending") bell.silence(approval.id);
    this.#changed();
    if (approval.status !== "pending") this.#goOn();
  }

  #end(id) {
    this.#over.add(id);
    if (this.#over.size > mostOver) this.#over.delete(this.#over.values().next().value);
  }

  #isOver({ id, executionId }) {
    return this.#over.has(id) || this.#over.has(executionId);
  }

  /** An answer says pending that was on its way when the end was told. What is asked for now is true. */
  async #again(id, fresh) {
    const approval = await this.#get(id);
    if (approval?.status !== "pending") return;
    this.#over.delete(id);
    this.#over.delete(approval.executionId);
    this.take(approval, fresh);
  }

  /** Nothing here waits any more, and there is more: now the first page has what comes next. */
  #goOn() {
    if (this.#loaded && this.#cursor !== null && this.#waiting().length === 0) this.#load(false);
  }

  /** Takes the cards away that are decided. */
  clearDecided() {
    for (const [id, { approval }] of this.#entries) if (approval.status !== "pending") this.#entries.delete(id);
    this.#changed();
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }

  // ——— the feed ———

  #follow() {
    const following = (this.#following = new AbortController());
    this.#load(this.#loaded);
    followAll({
      onEvents: (events) => events.forEach((event) => this.#event(event)),
      onSynced: () => this.#load(this.#loaded),
      onState: (state) => this.#connection(state),
    }, following.signal);
  }

  #connection(state) {
    this.#state = state;
    this.#shell?.connection("approvals", state);
    if (state.name === "failed" || state.name === "ended") this.#poll(this.#following.signal);
    this.#changed();
  }

  /** A key that may see approvals, and not the feed, still gets them, only later; so does one whose feed was ended. */
  #poll(signal) {
    const timer = setInterval(() => this.#load(this.#loaded), pollEvery);
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  #event(event) {
    if (event.type === "approval.requested") this.#requested(event.data.approvalId);
    else if (event.type === "approval.resolved") this.#resolved(event.data.approvalId);
    else if (isTerminal(event)) this.#ended(event.executionId);
  }

  #ended(executionId) {
    this.#end(executionId);
    for (const approval of this.#waiting()) if (approval.executionId === executionId) this.#look(approval.id);
  }

  /** Behind a page that is not here yet, a new card would stand in the wrong place; it comes with its page. */
  async #requested(id) {
    if (!this.#loaded) return void this.#load(false); // it must not stand before those that the list will bring
    const approval = await this.#get(id);
    if (approval === undefined) return;
    if (this.#cursor === null) return this.take(approval, true);
    if (approval.status === "pending" && !this.#isOver(approval)) bell.ring(approval);
  }

  #resolved(id) {
    this.#end(id);
    bell.silence(id);
    this.#look(id);
  }

  async #look(id) {
    if (!this.#entries.has(id)) return;
    const approval = await this.#get(id);
    if (approval !== undefined) this.take(approval);
  }

  async #get(id) {
    const { signal } = this.#running;
    try {
      return await get(approvalPath(id), {}, { signal });
    } catch (problem) {
      if (signal.aborted) return undefined;
      if (problem.status === 404) this.#gone(id);
      else this.#failed(problem, signal);
      return undefined;
    }
  }

  /** It was deleted with its execution. */
  #gone(id) {
    this.#end(id);
    this.#entries.delete(id);
    this.#changed();
    this.#goOn();
  }

  // ——— the list ———

  /** Reads the list. Where it is asked for once more meanwhile, only the newest answer counts. `fresh`: what is new in it has just been asked. */
  async #load(fresh) {
    const turn = (this.#turn = {});
    const { signal } = this.#running;
    try {
      const list = await this.#read(signal);
      if (this.#turn === turn && !signal.aborted) this.#merge(list, fresh);
    } catch (problem) {
      if (!signal.aborted) this.#failed(problem, signal);
    }
  }

  async #read(signal) {
    const list = { items: [], cursor: undefined };
    for (let page = 0; page < this.#pages && list.cursor !== null; page++) {
      const answer = await get("/approvals", { status: "pending", limit: pageSize, cursor: list.cursor }, { signal });
      list.items.push(...answer.items);
      list.cursor = answer.nextCursor;
    }
    return list;
  }

  #failed(problem, signal) {
    if (!(problem instanceof Problem)) throw problem;
    this.#problem = problem;
    this.#changed();
    if (problem.temporary) this.#retry(signal);
  }

  async #retry(signal) {
    if (this.#retrying) return;
    this.#retrying = true;
    await sleep(pollEvery, signal).catch(() => {});
    this.#retrying = false;
    if (!signal.aborted) this.#load(this.#loaded);
  }

  #merge({ items, cursor }, fresh) {
    this.#loaded = true;
    this.#problem = null;
    this.#cursor = cursor;
    const here = new Set(items.map((approval) => approval.id));
    for (const { id } of this.#waiting()) if (!here.has(id)) this.#look(id);
    for (const approval of items) this.take(approval, fresh);
    this.#changed();
    if (cursor !== null && this.#waiting().length === 0) this.#retry(this.#running.signal); // it was old already when it came
  }

  // ——— being seen ———

  #seen(signal) {
    clearTimeout(this.#unseen);
    if (document.visibilityState === "visible" || bell.mine()) {
      if (this.#following.signal.aborted) this.#follow();
      return;
    }
    this.#unseen = setTimeout(() => !signal.aborted && this.#following.abort(), unseenFor);
  }
}

/** The one of this tab. */
export const pending = new Pending();
