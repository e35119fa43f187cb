/** Message with a commit for the writer thread: one text and one buffer, which take a fraction of the time of a structured clone. */
import { type HeldGuard, type UniquenessGuard, WRITE_KINDS, type Write } from '../../../ports/store/resource-store.ts'

export type PackedWrite = {
  readonly type: string
  readonly id: string
  readonly expected: number
  readonly lastUpdated: number
  readonly deleted: boolean
  /** Index into WRITE_KINDS, or null if the write kind is unknown. */
  readonly made: number | null
  readonly compartments: string
  readonly body: Uint8Array
}

export type PackedGuard = Omit<UniquenessGuard, 'tenant'>

export type CommitMessage = { readonly number: number; readonly header: string; readonly bodies: ArrayBuffer }

/** Commit that was unpacked from a message. `bytes`: total size of its bodies. */
export type Commit = {
  readonly number: number
  readonly tenant: string
  /** Time of the commit in milliseconds since 1970. The age of uniqueness guards is measured by it. */
  readonly at: number
  readonly writes: readonly PackedWrite[]
  readonly guards: readonly PackedGuard[]
  readonly bytes: number
}

/**
 * Result of a commit: committed, unless `write`, `held` or `failed` is present. `write`: index of the write that expects another version.
 * `held`: guards that other resources hold. `failed`: reason of a machine fault. Only a committed one wrote anything.
 */
export type CommitReply = {
  readonly number: number
  readonly write?: number
  readonly held?: readonly HeldGuard[]
  readonly failed?: string
  /** Cause of `failed`: a damaged store or a full disk. undefined: another cause. */
  readonly fault?: 'damaged' | 'full'
}

export type BatchReply = { readonly replies: readonly CommitReply[]; readonly position: number }

export function packCommit(number: number, writes: readonly Write[], guards: readonly UniquenessGuard[], at: number): CommitMessage {
  const bodies = new Uint8Array(writes.reduce((sum, { body }) => sum + body.length, 0))
  let end = 0
  const rows = writes.map(({ type, id, expected, lastUpdated, deleted, made, compartments, body }) => {
    bodies.set(body, end)
    end += body.length
    const making = made === undefined ? null : WRITE_KINDS.indexOf(made)
    return [type, id, expected, lastUpdated, deleted ? 1 : 0, making, compartments.join(' '), body.length] satisfies PackedRow
  })
  const header = JSON.stringify([writes[0]?.tenant ?? guards[0]?.tenant, at, rows, guards])
  return { number, header, bodies: bodies.buffer }
}

type PackedRow = readonly [
  type: string,
  id: string,
  expected: number,
  lastUpdated: number,
  deleted: number,
  made: number | null,
  compartments: string,
  length: number,
]

export function unpackCommit({ number, header, bodies }: CommitMessage): Commit {
  const [tenant, at, rows, guards] = JSON.parse(header) as [string, number, PackedRow[], PackedGuard[]]
  let from = 0
  const writes = rows.map(([type, id, expected, lastUpdated, deleted, made, compartments, length]) => {
    const body = new Uint8Array(bodies, from, length)
    from += length
    return { type, id, expected, lastUpdated, deleted: deleted === 1, made, compartments, body }
  })
  return { number, tenant, at, writes, guards, bytes: bodies.byteLength }
}
