/**
 * Writes a large commit in short transactions, so that other commits need not wait for all of it. Its positions start after a gap for
 * commits that arrive meanwhile. A row in `staged` hides all versions from its first position on. The last transaction adds the keys and
 * guards and deletes that row, so all versions become visible at once. After a crash, opening the file removes the hidden versions.
 */
import type { HeldGuard } from '../../../ports/store/resource-store.ts'
import type { Commit, CommitReply, PackedWrite } from './commit-message.ts'
import type { CommitConflict, LogRow, LogWriter } from './log-writer.ts'

/** Number of positions reserved for commits that arrive during staging. A commit that does not fit waits until staging ends. */
const ROOM = 5_000
/** Maximum rows of a slice. */
const ROWS = 1_000
/** Bytes of bodies with which a slice ends, even if it has fewer rows. */
const BYTES = 1_500_000

export class Staging {
  readonly #log: LogWriter
  readonly #commit: Commit
  readonly #first: number
  readonly #touched: ReadonlySet<string>
  readonly #slices: Iterator<void, CommitConflict | undefined>

  constructor(log: LogWriter, commit: Commit) {
    this.#log = log
    this.#commit = commit
    this.#first = log.position + 1 + ROOM
    this.#touched = new Set(touchedBy(commit))
    this.#slices = this.#stage()
  }

  /**
   * Runs the next step: checks or writes a slice. Returns the reply after the last one. After an error the connection must be closed,
   * because staged versions remain.
   */
  step(): CommitReply | undefined {
    const { done, value } = this.#slices.next()
    return done === true ? { ...value, number: this.#commit.number } : undefined
  }

  /**
   * Whether another commit must wait for the staged one, because it exceeds the reserved positions or has a resource or guard of the staged
   * one. `position`: last position before that commit.
   */
  holdsUp(commit: Commit, position: number): boolean {
    return position + commit.writes.length >= this.#first || touchedBy(commit).some((name) => this.#touched.has(name))
  }

  *#stage(): Generator<void, CommitConflict | undefined> {
    const rows: LogRow[] = []
    const stop = (yield* this.#check(rows)) ?? (yield* this.#checkGuards())
    if (stop !== undefined) return stop
    yield* this.#write(rows)
    this.#log.atomically(() => {
      for (const row of rows) this.#log.addKey(row)
      this.#log.bind(this.#commit.tenant, this.#commit.guards, this.#commit.at)
      this.#log.showAll()
    })
    this.#log.position = this.#first + rows.length - 1
    return undefined
  }

  *#check(rows: LogRow[]): Generator<void, CommitConflict | undefined> {
    for (const some of slices(this.#commit.writes)) {
      const isFree = this.#log.atomically(() => some.every((write) => this.#isNext(rows, write)))
      if (!isFree) return { write: rows.length }
      yield
    }
    return undefined
  }

  #isNext(rows: LogRow[], write: PackedWrite): boolean {
    const row = { seq: this.#first + rows.length, kind: this.#log.kindOf(this.#commit.tenant, write.type), write }
    const isNext = this.#log.isNext(row)
    if (isNext) rows.push(row)
    return isNext
  }

  *#checkGuards(): Generator<void, CommitConflict | undefined> {
    const { tenant, guards } = this.#commit
    const held: HeldGuard[] = []
    for (const [index, each] of guards.entries()) {
      const one = this.#log.heldGuard(tenant, each, index)
      if (one !== undefined) held.push(one)
      if (index % ROWS === ROWS - 1) yield
    }
    return held.length === 0 ? undefined : { held }
  }

  *#write(rows: readonly LogRow[]): Generator<void> {
    for (const some of slices(rows, ({ write }) => write.body.length)) {
      this.#log.atomically(() => {
        this.#log.hideFrom(this.#first)
        for (const row of some) this.#log.addVersion(row)
      })
      yield
    }
  }
}

const touchedBy = ({ tenant, writes, guards }: Commit): readonly string[] => [
  ...writes.map(({ type, id }) => `${tenant}/${type}/${id}`),
  ...guards.map(({ guard }) => `${tenant}?${guard}`),
]

function* slices<T>(all: readonly T[], bytesOf: (one: T) => number = () => 0): Generator<readonly T[]> {
  let [from, bytes] = [0, 0]
  for (const [at, one] of all.entries()) {
    bytes += bytesOf(one)
    if (at + 1 - from < ROWS && bytes < BYTES && at + 1 < all.length) continue
    yield all.slice(from, at + 1)
    from = at + 1
    bytes = 0
  }
}
