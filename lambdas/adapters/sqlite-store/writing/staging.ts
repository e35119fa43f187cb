/**
 * A large commit, written in short transactions so that nobody waits for the whole of it. Its versions have positions after those that
 * others may take meanwhile; readers see none from `staged` on, until the last transaction takes that row away and shows all at once.
 * What a crash leaves is removed when the file is opened again.
 */
import type { Commit, CommitReply, PackedWrite } from './commit-message.ts'
import type { CommitConflict, LogRow, LogWriter } from './log-writer.ts'

/** Positions left for commits that come meanwhile. */
const ROOM = 5_000
/** A slice is at most this many rows, and about this many bytes of bodies. */
const ROWS = 1_000
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

  /** Writes the next slice; after the last one, the reply. An error: the connection must be closed, for what is staged is still there. */
  step(): CommitReply | undefined {
    const { done, value } = this.#slices.next()
    return done === true ? { ...value, number: this.#commit.number } : undefined
  }

  /** Whether a commit, after those up to `position`, has to wait for this one: nothing that was checked for it may change. */
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
    for (const [guard, each] of guards.entries()) {
      const holder = this.#log.holderInTheWay(tenant, each)
      if (holder !== undefined) return { guard, holder }
      if (guard % ROWS === ROWS - 1) yield
    }
    return undefined
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
