/**
 * Reads the bodies of requests, in memory that is bounded for all of them together. One that comes too slowly is given up: it would be
 * waited for as long as its sender likes. Where there are too many bytes, the body that has kept most of them for longest gives way.
 */
import type { IncomingMessage } from 'node:http'
import { ChunkBuffer } from '../fhir/chunk-buffer.ts'
import { fhirError } from '../fhir/outcome.ts'
import { Overloaded } from '../ports/faults/overloaded.ts'

/** `most`: bytes of all bodies that are read or worked on; `tick`: milliseconds between two looks at them, 1,000 but in tests. */
export type BodyLimits = { readonly most: number; readonly tick: number }

export type BodyResult =
  | { readonly kind: 'whole'; readonly bytes: Uint8Array }
  /** Longer than the limit. */
  | { readonly kind: 'too long' }
  /** `isCut`: nothing more of it is waited for. */
  | { readonly kind: 'refused'; readonly error: Error; readonly isCut: boolean }
  /** With its client. */
  | { readonly kind: 'gone' }

/** `limit`: bytes. `isKept` false: it is only waited for, for its sender reads the answer last. */
export type BodyReadOptions = { readonly limit: number; readonly isKept: boolean }

/** `size`: bytes that came, of which `gathered` holds all, or none of a body that is too long or not kept; `sizeThen`: when its rate was last looked at. */
type Reading = BodyReadOptions & {
  gathered: ChunkBuffer
  size: number
  sizeThen: number
  ticks: number
  readonly give: (body: BodyResult) => void
}

/** Bytes in a tick, on the average of this many. */
const LEAST_RATE = 1_000
const WINDOW = 10
/** Of a body that is too long so many limits are listened to, for its sender reads the answer last; then it is cut off. */
const PATIENCE = 4

export class BodyReader {
  readonly #limits: BodyLimits
  readonly #readings = new Set<Reading>()
  #held = 0
  #timer: NodeJS.Timeout | undefined

  constructor(limits: BodyLimits) {
    this.#limits = limits
  }

  /** What is whole counts until it is given back. */
  read(incoming: IncomingMessage, { limit, isKept }: BodyReadOptions): Promise<BodyResult> {
    return new Promise((resolve) => {
      const reading: Reading = { limit, isKept, gathered: new ChunkBuffer(), size: 0, sizeThen: 0, ticks: 0, give: resolve }
      this.#readings.add(reading)
      this.#timer ??= setInterval(() => this.#look(), this.#limits.tick).unref()
      incoming.on('data', (chunk: Buffer) => this.#take(reading, chunk))
      incoming.on('end', () => this.#end(reading, reading.size > limit ? TOO_LONG : { kind: 'whole', bytes: reading.gathered.bytes() }))
      incoming.on('close', () => this.#end(reading, GONE))
      incoming.on('error', () => this.#end(reading, GONE))
    })
  }

  giveBack(bytes: Uint8Array): void {
    this.#held -= bytes.length
  }

  /** Of a body that was given up nothing is kept. */
  #take(reading: Reading, chunk: Buffer): void {
    if (!this.#readings.has(reading)) return
    const { limit } = reading
    reading.size += chunk.length
    if (reading.size > limit * PATIENCE) return this.#end(reading, TOO_LONG)
    // guard: streamed-body-size-limit
    if (reading.size > limit) return this.#forget(reading)
    if (!reading.isKept) return
    reading.gathered.add(chunk)
    this.#held += chunk.length
    while (this.#held > this.#limits.most && this.#giveWay());
  }

  #end(reading: Reading, body: BodyResult): void {
    if (!this.#readings.delete(reading)) return
    if (body.kind !== 'whole') this.#forget(reading)
    reading.give(body)
  }

  #forget(reading: Reading): void {
    this.#held -= reading.gathered.size
    reading.gathered = new ChunkBuffer()
  }

  /** False: all that is held is being worked on. */
  #giveWay(): boolean {
    let heaviest: Reading | undefined
    for (const each of this.#readings) if (heaviest === undefined || weightOf(each) > weightOf(heaviest)) heaviest = each
    if (heaviest === undefined || heaviest.gathered.size === 0) return false
    this.#end(heaviest, { kind: 'refused', error: new Overloaded('too many bytes of bodies'), isCut: false })
    return true
  }

  /** Time in which this thread was busy is no time in which a body did not come: ticks are counted, not milliseconds. */
  #look(): void {
    for (const reading of this.#readings) {
      if (++reading.ticks % WINDOW !== 0) continue
      if (reading.size - reading.sizeThen < LEAST_RATE * WINDOW) this.#end(reading, TOO_SLOW)
      reading.sizeThen = reading.size
    }
    if (this.#readings.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const weightOf = ({ gathered, ticks }: Reading): number => gathered.size * (1 + ticks)

const GONE: BodyResult = { kind: 'gone' }
const TOO_LONG: BodyResult = { kind: 'too long' }
const TOO_SLOW: BodyResult = {
  kind: 'refused',
  error: fhirError(408, 'timeout', `The body came with less than ${LEAST_RATE} bytes a second`),
  isCut: true,
}
