/** Reads single versions by key. This read determines the latency of most requests. Array rows and cached kinds halve its cost. */
import type { DatabaseSync } from 'node:sqlite'
import { isFault } from '../../../ports/faults.ts'
import type { DamagedVersion, ResourceKey, ResourceVersion, VersionKey } from '../../../ports/store/resource-store.ts'
import { ContentReader } from '../bodies/contents.ts'
import { requireRow, toStoreFault } from '../damage.ts'
import type { KeyFilter } from '../keys/key-filter.ts'
import type { RecentKeys } from '../keys/recent-keys.ts'
import { type ContentRow, verifiedVersion } from '../rows.ts'

export type VersionReaderOptions = { readonly old?: KeyFilter; readonly as?: typeof verifiedVersion }

export class VersionReader {
  readonly #recent: RecentKeys
  readonly #old: KeyFilter | undefined
  readonly #as: typeof verifiedVersion
  readonly #contents: ContentReader
  readonly #kind
  readonly #head
  readonly #number
  readonly #version
  readonly #bySeq
  readonly #kinds = new Map<string, Map<string, number>>()

  /**
   * Searches the recent keys, then the key table. `old`: filter of the key table. `as`: converts a row and decides how damage is handled.
   */
  constructor(db: DatabaseSync, recent: RecentKeys, { old, as = verifiedVersion }: VersionReaderOptions = {}) {
    this.#recent = recent
    this.#old = old
    this.#as = as
    this.#contents = new ContentReader(db)
    const selected = 'SELECT v.vid, v.lastUpdated, v.deleted, v.compartments, v.body, v.sum, v.made, v.dictionary FROM'
    const byKey = `${selected} key k LEFT JOIN version v ON v.seq = k.seq WHERE k.kind = ? AND k.id = ?`
    this.#kind = db.prepare('SELECT kind FROM kind WHERE tenant = ? AND type = ?')
    this.#head = db.prepare(`${byKey} ORDER BY k.vid DESC LIMIT 1`)
    this.#number = db.prepare('SELECT max(vid) AS vid FROM key WHERE kind = ? AND id = ?')
    this.#version = db.prepare(`${byKey} AND k.vid = ?`)
    this.#bySeq = db.prepare(`${selected} version v WHERE v.seq = ?`)
    for (const statement of [this.#head, this.#version, this.#bySeq]) statement.setReturnArrays(true)
  }

  head(key: ResourceKey): ResourceVersion | undefined {
    const kind = this.#kindOf(key)
    if (kind === undefined) return undefined
    const recent = this.#recent.head(kind, key.id)
    if (recent !== undefined) return this.#versionOf(key, requireRow(this.#bySeq.get(recent.seq)))
    const row = this.#isOld(kind, key) ? this.#head.get(kind, key.id) : undefined
    return row && this.#versionOf(key, row)
  }

  /** Returns the current version. If it is damaged, returns its key, version number and the damage instead. */
  headOrDamage(key: ResourceKey): ResourceVersion | DamagedVersion | undefined {
    try {
      return this.head(key)
    } catch (error) {
      const damage = toStoreFault(error)
      if (!isFault(damage, 'store-damaged')) throw error
      const { tenant, type, id } = key
      return { tenant, type, id, versionId: this.#numberOf(key), deleted: false, damage }
    }
  }

  version(key: VersionKey): ResourceVersion | undefined {
    const kind = this.#kindOf(key)
    if (kind === undefined) return undefined
    const seq = this.#recent.seqOf(kind, key.id, key.versionId)
    if (seq !== undefined) return this.#versionOf(key, requireRow(this.#bySeq.get(seq)))
    const row = this.#isOld(kind, key) ? this.#version.get(kind, key.id, key.versionId) : undefined
    return row && this.#versionOf(key, row)
  }

  /**
   * Returns the version number of the current version. Keys are stored apart from versions, so it is known even if the version is damaged.
   */
  #numberOf(key: ResourceKey): number {
    const kind = requireRow(this.#kindOf(key))
    const { vid } = this.#recent.head(kind, key.id) ?? (this.#number.get(kind, key.id) as { readonly vid: number | null })
    return requireRow(vid ?? undefined)
  }

  #isOld(kind: number, { id }: ResourceKey): boolean {
    return this.#old?.mayHave(kind, id) !== false
  }

  /**
   * Returns the number of a kind, or undefined if it does not exist yet. Kinds are never removed, so the cache of existing ones stays
   * valid.
   */
  #kindOf({ tenant, type }: ResourceKey): number | undefined {
    const known = this.#kinds.get(tenant)?.get(type)
    if (known !== undefined) return known
    const kind = (this.#kind.get(tenant, type) as { readonly kind: number } | undefined)?.kind
    if (kind === undefined) return undefined
    const ofTenant = this.#kinds.get(tenant) ?? new Map<string, number>()
    this.#kinds.set(tenant, ofTenant.set(type, kind))
    return kind
  }

  /** Converts a row. Throws the fault `store-damaged` if its columns are null, because the key then refers to a missing version. */
  #versionOf(key: ResourceKey, row: unknown): ResourceVersion {
    const content = row as ContentRow
    requireRow(content[0] ?? undefined)
    return this.#as(key, content, this.#contents)
  }
}
