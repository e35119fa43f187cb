/**
 * Answers on their way to clients, in memory that is bounded for all of them together: a client that asks and does not read costs only
 * itself. Where there are too many bytes, the answer that has kept most of them for longest is cut off.
 */
import type { ServerResponse } from 'node:http'

type Sending = { readonly outgoing: ServerResponse; readonly size: number; readonly since: number }

export class PendingResponses {
  readonly #most: number
  readonly #sending = new Set<Sending>()
  #held = 0

  /** `most`: bytes of all answers that clients have not taken yet. */
  constructor(most: number) {
    this.#most = most
  }

  /** Ends the answer, piece by piece as its client takes them. Its bytes count until the machine has taken the last, or the client is gone. */
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
   * Sends what is read as its client takes it: the piece that waits counts, for as long as it waits. Nothing more is read for a client that is
   * gone, or once `isEnding`: then the answer is cut off, and who wants the rest asks for it elsewhere. Fails as the reading does.
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

export const lengthOf = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, { length }) => sum + length, 0)

async function send(outgoing: ServerResponse, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    if (outgoing.destroyed) return
    if (!outgoing.write(piece)) await taken(outgoing)
  }
  outgoing.end()
}

/** There is room for more, or nobody there to take it. What is gone already says so no more. */
const taken = (outgoing: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    if (outgoing.destroyed) return resolve()
    const done = (): void => {
      outgoing.off('drain', done).off('close', done)
      resolve()
    }
    outgoing.on('drain', done).on('close', done)
  })
