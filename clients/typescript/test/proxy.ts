import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** How a connection is cut: after so many bytes of the answers, and with a reset or a plain end. */
export interface Cut {
  after: number;
  reset: boolean;
}

/** A TCP proxy on 127.0.0.1 that cuts connections, each at the place that its plan says. */
export class Proxy {
  readonly #server;
  readonly #open = new Set<Socket>();
  readonly #plan: Cut[];
  /** Where it leads; a server that starts again may have another port. */
  target: string;
  /** How many connections were cut so far. */
  cuts = 0;
  url = "";

  private constructor(target: string, plan: Cut[]) {
    this.target = target;
    this.#plan = [...plan];
    this.#server = createServer((near) => this.#accept(near));
  }

  /** Opens a proxy. Connections beyond the plan are left alone. */
  static async up(target: string, plan: Cut[] = []): Promise<Proxy> {
    const proxy = new Proxy(target, plan);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    proxy.url = `http://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}`;
    return proxy;
  }

  async down(): Promise<void> {
    this.#open.forEach((socket) => socket.destroy());
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(near: Socket): void {
    const cut = this.#plan.shift();
    const { hostname, port } = new URL(this.target);
    const far = connect(Number(port), hostname);
    for (const [socket, other] of [[near, far], [far, near]] as const) {
      this.#open.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.#open.delete(socket);
        other.destroySoon();
      });
    }
    near.pipe(far);
    let left = cut?.after ?? Infinity;
    far.on("data", (bytes) => {
      if (near.destroyed || near.writableEnded) return;
      near.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left > 0) return;
      this.cuts++;
      if (cut?.reset) near.resetAndDestroy();
      else near.end();
      far.destroy();
    });
  }
}
