// What of the page is in sight. It tells parts of a long page when they come near and when they are far, so that only what is seen is drawn;
// and it keeps what the person looks at in its place while things above it change their height. Who is at the end stays at the end.

/** So far beyond the window a part counts as near: further than a flick of a thumb goes in a frame. */
const margin = 1500;
/** Nearer to the end than this counts as at the end. */
const nearEnd = 24;

/** One page's sight. It ends with the signal. */
export class Sight {
  pinned = false; // the person is at the end, and the page stays there
  #parts = new Map();
  #observer;
  #changing = false;
  #last = 0; // where the page was scrolled to
  #onPinned;
  #anchors;

  /**
   * @param {AbortSignal} signal
   * @param {() => Element[]} anchors what a person may be looking at, in the order of the page; the deepest that is seen is kept in its place
   * @param {() => void} onPinned the person has come to the end, or left it
   */
  constructor(signal, anchors, onPinned = () => {}) {
    this.#anchors = anchors;
    this.#onPinned = onPinned;
    this.#observer = new IntersectionObserver((entries) => this.steady(() => this.#tell(entries)), { rootMargin: `${margin}px 0px` });
    window.addEventListener("scroll", () => this.#scrolled(), { signal, passive: true });
    window.addEventListener("resize", () => this.pinned && this.toEnd(), { signal });
    signal.addEventListener("abort", () => this.#observer.disconnect(), { once: true });
  }

  /** Calls near() and far() as an element comes and goes. Returns what ends it. */
  watch(element, part) {
    this.#parts.set(element, part);
    this.#observer.observe(element);
    return () => {
      this.#parts.delete(element);
      this.#observer.unobserve(element);
    };
  }

  #tell(entries) {
    for (const { target, isIntersecting } of entries) {
      const part = this.#parts.get(target);
      if (isIntersecting) part?.near();
      else part?.far();
    }
  }

  /** Changes something, and leaves what the person looks at where it is. */
  steady(change) {
    if (this.#changing) return change();
    const anchor = this.pinned ? undefined : this.#anchor();
    this.#changing = true;
    try {
      change();
    } finally {
      this.#changing = false;
    }
    if (this.pinned) this.toEnd();
    else if (anchor?.element.isConnected) this.#move(anchor.element.getBoundingClientRect().top - anchor.top);
  }

  /** The first thing that is seen below the frame's header. At the very beginning of the page nothing is held: what comes above comes into sight. */
  #anchor() {
    if (window.scrollY < 8) return undefined;
    for (const element of this.#anchors()) {
      const { top, bottom } = element.getBoundingClientRect();
      if (bottom > 60 && top < window.innerHeight) return { element, top };
    }
    return undefined;
  }

  #move(by) {
    if (Math.abs(by) < 1) return;
    window.scrollBy({ top: by, behavior: "instant" });
    this.#last = window.scrollY;
  }

  /** Goes to the end, and stays there. */
  toEnd() {
    this.#pin(true);
    window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
    this.#last = window.scrollY;
  }

  /** Whoever scrolls up leaves the end at once, be it by a finger's breadth: the page must not pull against the finger. */
  #scrolled() {
    const up = window.scrollY < this.#last - 1;
    this.#last = window.scrollY;
    if (this.isAtEnd) this.#pin(true);
    else if (up) this.#pin(false);
  }

  get isAtEnd() {
    return document.documentElement.scrollHeight - window.innerHeight - window.scrollY < nearEnd;
  }

  #pin(pinned) {
    if (this.pinned === pinned) return;
    this.pinned = pinned;
    this.#onPinned();
  }
}
