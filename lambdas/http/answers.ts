/**
 * Answers on their way to clients, in memory that is bounded for all of them together: a client that asks and does not read costs only
 * itself. Where there are too many bytes, the answer that has kept most of them for longest is cut off.
 */
import type { ServerResponse } from 'node:http'

type Sending = { readonly outgoing: ServerResponse; readonly size: number; readonly since: number }

export class Answers {
  readonly #most: number
  readonly #sending = new Set<Sending>()
  #held = 0

  /** `most`: bytes of all answers that clients have not taken yet. */
  constructor(most: number) {
    this.#most = most
  }

  /** Ends the answer. Its bytes count until the machine has taken the last of them, or its client is gone. */
  end(outgoing: ServerResponse, bytes: Uint8Array | undefined): void {
    if (bytes !== undefined && !outgoing.closed) this.#hold(outgoing, bytes.length)
    outgoing.end(bytes)
    while (this.#held > this.#most && this.#cutOff());
  }

  #hold(outgoing: ServerResponse, size: number): void {
    const sending = { outgoing, size, since: performance.now() }
    this.#sending.add(sending)
    this.#held += size
    outgoing.once('close', () => this.#letGo(sending))
  }

  #letGo(sending: Sending): void {
    if (this.#sending.delete(sending)) this.#held -= sending.size
  }

  /** False: there is one answer, however large. */
  #cutOff(): boolean {
    if (this.#sending.size < 2) return false
    const now = performance.now()
    const weightOf = ({ size, since }: Sending): number => size * (now - since)
    const heaviest = [...this.#sending].reduce((a, b) => (weightOf(b) > weightOf(a) ? b : a))
    this.#letGo(heaviest)
    heaviest.outgoing.destroy()
    return true
  }
}
