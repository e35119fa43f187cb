/** Keys of resources that exported versions refer to, for the second pass. They are stored in blobs that the checkpoints name. */
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { rulesOf } from '../additional-resources.ts'
import { temporaryKeyOf } from '../job/job.ts'
import { typeSettingsOf } from '../plan/partner-types.ts'
import { type ReferenceFinder, referenceFinder } from '../select/exported-references.ts'
import { isAlwaysExported, type Selection } from '../select/selection.ts'
import type { ExportParts } from '../step-types.ts'
import { putKeys } from './key-buckets.ts'

/** Keys held in memory above which `flush` writes them to a blob. */
const MAX_HELD_KEYS = 200_000

type Parts = Pick<ExportParts, 'blobs' | 'newId' | 'groupTypes' | 'additionalResources'>

export class ReferencedKeys {
  readonly #parts: Parts
  readonly #job: string
  readonly #selection: Selection
  /** Undefined if all referenced resources are exported anyway, so no reference is followed. */
  readonly #references: ReferenceFinder | undefined
  /** References of resources that another resource names. */
  readonly #whenNamed: ReferenceFinder
  readonly #keys = new Set<string>()
  /** Some of the keys that are already stored in blobs, so that they are not stored again. Cleared when it grows large. */
  readonly #stored = new Set<string>()
  #blobs: readonly string[]

  /** `blobs`: blobs of the last checkpoint. */
  constructor(parts: Parts, selection: Selection, blobs: readonly string[]) {
    const { jobScope, job, judge } = selection
    const { id, level } = job
    this.#parts = parts
    this.#job = id
    this.#selection = selection
    const areAllExported = jobScope.patients === undefined && isAlwaysExported(selection, 'Patient/')
    const { additionalResources } = typeSettingsOf(parts, job)
    const isNoneFollowed = level === 'system' || (areAllExported && rulesOf(level, additionalResources).length === 0)
    this.#references = isNoneFollowed ? undefined : referenceFinder(level, additionalResources, judge.reading)
    this.#whenNamed = referenceFinder(level, additionalResources, judge.reading, { isNamed: true })
    this.#blobs = blobs
  }

  /**
   * Adds the references of a version. They are held in memory until `flush` or `checkpoint`. Throws the fault `store-damaged` if the body
   * cannot be parsed, and then adds none.
   */
  add(version: ResourceVersion): void {
    this.#hold(this.#references?.(version) ?? [])
  }

  /** Adds the references that a version has only because another resource names it. Throws like `add`. */
  addWhenNamed(version: ResourceVersion): void {
    this.#hold(this.#whenNamed(version))
  }

  #hold(keys: readonly string[]): void {
    for (const key of keys) if (!this.#stored.has(key) && !isAlwaysExported(this.#selection, key)) this.#keys.add(key)
  }

  /** Stores the held keys in a blob if there are more than MAX_HELD_KEYS. */
  async flush(): Promise<void> {
    if (this.#keys.size > MAX_HELD_KEYS) await this.#write()
  }

  /** Stores the held keys. Returns the blobs that contain all keys so far. */
  async checkpoint(): Promise<readonly string[]> {
    if (this.#keys.size > 0) await this.#write()
    return this.#blobs
  }

  async #write(): Promise<void> {
    const key = temporaryKeyOf(this.#job, 'met', this.#parts.newId())
    await putKeys(this.#parts.blobs, key, this.#keys)
    this.#blobs = [...this.#blobs, key]
    if (this.#stored.size > MAX_HELD_KEYS) this.#stored.clear()
    for (const each of this.#keys) this.#stored.add(each)
    this.#keys.clear()
  }
}
