/** What a writer met in the versions it exported that others look for: keys of resources, in blobs that its checkpoints name. */
import { hashOf } from '../ports/hash-of.ts'
import type { ResourceVersion } from '../ports/resource-store.ts'
import { type Job, passingBlobOf } from './job.ts'
import type { ExportParts } from './steps.ts'

/** `Type/id` of what is exported because this version refers to it. */
export type ReferencesIn = (version: ResourceVersion) => readonly string[]

/** Keys held in memory. */
const MOST = 200_000

export class Met {
  readonly #parts: Pick<ExportParts, 'blobs' | 'newId'>
  readonly #job: string
  readonly #referencesIn: ReferencesIn | undefined
  readonly #keys = new Set<string>()
  #blobs: readonly string[]

  /** `blobs`: of the last checkpoint. `referencesIn`: absent where nothing is looked for. */
  constructor(parts: Pick<ExportParts, 'blobs' | 'newId'>, { id }: Job, referencesIn: ReferencesIn | undefined, blobs: readonly string[]) {
    this.#parts = parts
    this.#job = id
    this.#referencesIn = referencesIn
    this.#blobs = blobs
  }

  async add(versions: readonly ResourceVersion[]): Promise<void> {
    if (this.#referencesIn === undefined) return
    for (const version of versions) if (!version.deleted) for (const key of this.#referencesIn(version)) this.#keys.add(key)
    if (this.#keys.size > MOST) await this.#write()
  }

  /** The blobs that hold all that was met. */
  async checkpoint(): Promise<readonly string[]> {
    if (this.#keys.size > 0) await this.#write()
    return this.#blobs
  }

  /** One key a line, by ascending hash. */
  async #write(): Promise<void> {
    const key = passingBlobOf(this.#job, 'met', this.#parts.newId())
    const byHash = [...this.#keys].map((each) => ({ each, hash: hashOf(each) })).sort((a, b) => a.hash - b.hash)
    const bytes = new TextEncoder().encode(byHash.map(({ each }) => each).join('\n'))
    await this.#parts.blobs.put(key, { bytes, contentType: 'text/plain' })
    this.#blobs = [...this.#blobs, key]
    this.#keys.clear()
  }
}
