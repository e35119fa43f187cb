/**
 * Responses on their way to clients, in memory that is bounded for all of them together.
 * A client that does not read its response harms only itself.
 * Above the limit, the response with the largest product of bytes and time is cut off.
 */
import type { ServerResponse } from 'node:http'

type Sending = { readonly outgoing: ServerResponse; readonly size: number; readonly since: number }

export class PendingResponses {
  readonly #most: number
  readonly #sending = new Set<Sending>()
  #held = 0

  /** `most`: maximum bytes of all responses that clients have not taken yet. */
  constructor(most: number) {
    this.#most = most
  }

  /**
   * Sends the pieces as the client takes them, and ends the response.
   * The bytes count toward the limit until the operating system has taken the last one, or the client is gone.
   */
  end(outgoing: ServerResponse, pieces: readonly Uint8Array[]): void {
    const size = lengthOf(pieces)
    if (size > 0 && !outgoing.closed) {
      const sending = this.#hold(outgoing, size)
      outgoing.once('close', () => this.#letGo(sending))
    }
    if (pieces.length > 1) void send(outgoing, pieces)
    else outgoing.end(pieces[0])
    while (this.#held > this.#most && this.#cutOff());
  }

  /**
   * Sends pieces as the client takes them. Only a piece that waits for the client counts toward the limit.
   * Stops reading if the client is gone. Cuts off the response once `isEnding`: the client can request the rest elsewhere.
   * Throws the errors of the source.
   */
  async stream(outgoing: ServerResponse, pieces: AsyncIterable<Uint8Array>, isEnding: () => boolean): Promise<void> {
    for await (const piece of pieces) {
      if (isEnding()) outgoing.destroy()
      if (outgoing.destroyed) return
      if (outgoing.write(piece)) continue
      const sending = this.#hold(outgoing, piece.length)
      while (this.#held > this.#most && this.#cutOff());
      await taken(outgoing)
      this.#letGo(sending)
    }
    outgoing.end()
  }

  #hold(outgoing: ServerResponse, size: number): Sending {
    const sending = { outgoing, size, since: performance.now() }
    this.#sending.add(sending)
    this.#held += size
    return sending
  }

  #letGo(sending: Sending): void {
    if (this.#sending.delete(sending)) this.#held -= sending.size
  }

  /**
   * Cuts off the response with the largest product of bytes and time. Returns false if there is only one: a single response is sent at any
   * size.
   */
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

export const lengthOf = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, { length }) => sum + length, 0)

async function send(outgoing: ServerResponse, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    if (outgoing.destroyed) return
    if (!outgoing.write(piece)) await taken(outgoing)
  }
  outgoing.end()
}

/** Resolves when the response accepts more bytes, or is closed. A response that is already destroyed emits no further event. */
const taken = (outgoing: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    if (outgoing.destroyed) return resolve()
    const done = (): void => {
      outgoing.off('drain', done).off('close', done)
      resolve()
    }
    outgoing.on('drain', done).on('close', done)
  })
