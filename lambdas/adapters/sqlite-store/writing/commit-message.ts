/** Message with a commit for the writer thread: one text and one buffer, which cost a fraction of a structured clone. */
import { type UniquenessGuard, WRITE_KINDS, type Write } from '../../../ports/store/resource-store.ts'

export type PackedWrite = {
  readonly type: string
  readonly id: string
  readonly expected: number
  readonly lastUpdated: number
  readonly deleted: boolean
  /** Index into WRITE_KINDS. */
  readonly made: number | null
  readonly compartments: string
  readonly body: Uint8Array
}

export type PackedGuard = Omit<UniquenessGuard, 'tenant'>

export type CommitMessage = { readonly number: number; readonly header: string; readonly bodies: ArrayBuffer }

/** Commit unpacked from a message. `bytes`: size of all bodies. */
export type Commit = {
  readonly number: number
  readonly tenant: string
  /** Milliseconds since 1970: time of the commit, by which guards age. */
  readonly at: number
  readonly writes: readonly PackedWrite[]
  readonly guards: readonly PackedGuard[]
  readonly bytes: number
}

/** Result of a commit. Without `write`, `guard` and `failed`: committed. `failed`: a machine fault; nothing of the commit was written. */
export type CommitReply = {
  readonly number: number
  readonly write?: number
  readonly guard?: number
  readonly holder?: UniquenessGuard['holder']
  readonly failed?: string
  /** Cause of the failure, if it is one of these. */
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
