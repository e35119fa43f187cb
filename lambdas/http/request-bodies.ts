/**
 * Reads request bodies. A limit applies to the memory of all bodies together.
 * A body that arrives too slowly is rejected, because its sender could otherwise occupy memory for any length of time.
 * Above the limit, the arriving body with the largest product of bytes and time is rejected.
 */
import type { IncomingMessage } from 'node:http'
import { ChunkBuffer } from '../fhir/chunk-buffer.ts'
import { fhirError } from '../fhir/outcome.ts'
import { MachineFault } from '../ports/faults.ts'

/** `most`: maximum bytes of all arriving and processed bodies. `tick`: milliseconds between two rate checks: 1,000, less in tests. */
export type BodyLimits = { readonly most: number; readonly tick: number }

export type BodyResult =
  | { readonly kind: 'whole'; readonly bytes: Uint8Array }
  /** The body is longer than the limit. */
  | { readonly kind: 'too long' }
  /** The body was rejected. `isCut`: true if the rest of it is not read, so that the connection must be closed. */
  | { readonly kind: 'refused'; readonly error: Error; readonly isCut: boolean }
  /** The client has disconnected. */
  | { readonly kind: 'gone' }

/**
 * `limit`: maximum bytes. `isKept`: false reads the body without storing it, because many clients read the response only after they have
 * sent the body.
 */
export type BodyReadOptions = { readonly limit: number; readonly isKept: boolean }

/**
 * Body that is arriving. `size`: bytes received. `gathered`: these bytes, or none if the body is too long or not kept. `sizeThen`: `size`
 * at the last rate check. `ticks`: age.
 */
type Reading = BodyReadOptions & {
  gathered: ChunkBuffer
  size: number
  sizeThen: number
  ticks: number
  readonly give: (body: BodyResult) => void
}

/** Minimum bytes per tick, on average over WINDOW ticks. A slower body is answered 408. */
const LEAST_RATE = 1_000
/** Ticks between two checks of the rate of a body. */
const WINDOW = 10
/**
 * Multiple of `limit` up to which a body that is too long is still read. Many clients read the response only after they have sent the body.
 * Beyond it the connection is closed.
 */
const PATIENCE = 4

export class BodyReader {
  readonly #limits: BodyLimits
  readonly #readings = new Set<Reading>()
  #held = 0
  #timer: NodeJS.Timeout | undefined

  constructor(limits: BodyLimits) {
    this.#limits = limits
  }

  /** Reads a body. A result `whole` counts toward the memory limit until `giveBack`. */
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

  /** Adds a chunk. Ignores chunks of a body that was given up. */
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

  /** Rejects the arriving body with the largest product of bytes and time. Returns false if no arriving body holds memory. */
  #giveWay(): boolean {
    let heaviest: Reading | undefined
    for (const each of this.#readings) if (heaviest === undefined || weightOf(each) > weightOf(heaviest)) heaviest = each
    if (heaviest === undefined || heaviest.gathered.size === 0) return false
    this.#end(heaviest, { kind: 'refused', error: new MachineFault('overloaded', 'too many bytes of bodies'), isCut: false })
    return true
  }

  /** Rejects bodies below the minimum rate. Counts ticks instead of milliseconds, so that a busy thread does not make a body seem slow. */
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
