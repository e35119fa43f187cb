/** Single versions by their key: the reading that everything else waits for. Rows come as arrays and kinds from memory, which halves its cost. */
import type { DatabaseSync } from 'node:sqlite'
import type { ResourceKey, ResourceVersion, VersionKey } from '../../../ports/resource-store.ts'
import type { KeyFilter } from '../keys/key-filter.ts'
import type { RecentKeys } from '../keys/recent-keys.ts'

type Row = readonly [vid: number, lastUpdated: number, deleted: number, compartments: string, body: Uint8Array]

export class VersionReader {
  readonly #recent: RecentKeys
  readonly #old: KeyFilter | undefined
  readonly #kind
  readonly #head
  readonly #version
  readonly #bySeq
  readonly #kinds = new Map<string, Map<string, number>>()

  /** Finds what `recent` and the table of keys know. `old`: what the table may have. */
  constructor(db: DatabaseSync, recent: RecentKeys, old?: KeyFilter) {
    this.#recent = recent
    this.#old = old
    const selected = 'SELECT v.vid, v.lastUpdated, v.deleted, v.compartments, v.body FROM'
    const byKey = `${selected} key k JOIN version v ON v.seq = k.seq WHERE k.kind = ? AND k.id = ?`
    this.#kind = db.prepare('SELECT kind FROM kind WHERE tenant = ? AND type = ?')
    this.#head = db.prepare(`${byKey} ORDER BY k.vid DESC LIMIT 1`)
    this.#version = db.prepare(`${byKey} AND k.vid = ?`)
    this.#bySeq = db.prepare(`${selected} version v WHERE v.seq = ?`)
    for (const statement of [this.#head, this.#version, this.#bySeq]) statement.setReturnArrays(true)
  }

  head(key: ResourceKey): ResourceVersion | undefined {
    const kind = this.#kindOf(key)
    if (kind === undefined) return undefined
    const recent = this.#recent.head(kind, key.id)
    if (recent !== undefined) return versionOf(key, this.#bySeq.get(recent.seq))
    return this.#isOld(kind, key) ? versionOf(key, this.#head.get(kind, key.id)) : undefined
  }

  version(key: VersionKey): ResourceVersion | undefined {
    const kind = this.#kindOf(key)
    if (kind === undefined) return undefined
    const seq = this.#recent.seqOf(kind, key.id, key.versionId)
    if (seq !== undefined) return versionOf(key, this.#bySeq.get(seq))
    return this.#isOld(kind, key) ? versionOf(key, this.#version.get(kind, key.id, key.versionId)) : undefined
  }

  #isOld(kind: number, { id }: ResourceKey): boolean {
    return this.#old?.mayHave(kind, id) !== false
  }

  /** A kind that is there stays: only what is not there yet is looked for again. */
  #kindOf({ tenant, type }: ResourceKey): number | undefined {
    const known = this.#kinds.get(tenant)?.get(type)
    if (known !== undefined) return known
    const kind = (this.#kind.get(tenant, type) as { readonly kind: number } | undefined)?.kind
    if (kind === undefined) return undefined
    const ofTenant = this.#kinds.get(tenant) ?? new Map<string, number>()
    this.#kinds.set(tenant, ofTenant.set(type, kind))
    return kind
  }
}

function versionOf({ tenant, type, id }: ResourceKey, row: unknown): ResourceVersion | undefined {
  if (row === undefined) return undefined
  const [versionId, lastUpdated, deleted, compartments, body] = row as Row
  return {
    tenant,
    type,
    id,
    versionId,
    lastUpdated,
    deleted: deleted === 1,
    compartments: compartments === '' ? [] : compartments.split(' '),
    body,
  }
}
