/** Writes keep to the pace of an index that is far behind. */
import { describe, expect, it } from '@jest/globals'
import { backpressureWriter } from '../../../lambdas/runtime/embedded/backpressure-writer.ts'
import { eventually } from '../../fixtures/eventually.ts'

const LARGE = 50
const FAR = 2_001
/** The index follows this tenant separately. */
const APART = 'apart'

/** A writer over an index that is `delay` milliseconds behind at `position`; `looks`: how often the writer looked at the delay. */
function paced(delay: number) {
  /** Every second version is the tenant's. */
  const countAfter = (position: number, _: string, most: number) => Math.floor((position + most) / 2) - Math.floor(position / 2)
  const index = { position: 0, apart: 0, milliseconds: delay, looks: 0, isSplit: false, countAfter }
  const commits: number[] = []
  const commit = async (writes: readonly unknown[]) => {
    commits.push(writes.length)
    return { kind: 'committed' as const }
  }
  const writer = backpressureWriter(
    { commit },
    {
      positionOf: (tenant) => (tenant === APART ? index.apart : index.position),
      delay() {
        index.looks++
        return index.milliseconds
      },
      isApart: (tenant) => tenant === APART || index.isSplit,
    },
    { countAfter: (...asked) => index.countAfter(...asked) },
  )
  const write = (versions: number, tenant = 't') => writer.commit(Array(versions).fill({ tenant }), [])
  const looked = (more = 3) => {
    const before = index.looks
    return eventually(() => index.looks >= before + more)
  }
  return { index, commits, write, looked }
}

describe('A write', () => {
  it('is committed at once while the index needs at most two seconds to catch up', async () => {
    const { commits, write, index } = paced(2_000)
    await Promise.all([write(LARGE), write(1)])
    expect(commits.toSorted()).toEqual([1, LARGE])
    expect(index.looks).toBe(2)
  })

  it('waits while the index needs longer, until it needs less', async () => {
    const { index, commits, write, looked } = paced(FAR)
    const writing = write(LARGE)
    await looked()
    expect(commits).toEqual([])
    index.milliseconds = 2_000
    expect(await writing).toEqual({ kind: 'committed' })
  })

  it('is committed when the index has processed as many versions as the write has', async () => {
    const { index, commits, write, looked } = paced(FAR)
    const writing = write(LARGE)
    await looked()
    index.position = LARGE - 1
    await looked()
    expect(commits).toEqual([])
    index.position = LARGE
    await writing
    expect(commits).toEqual([LARGE])
  })

  it('waits for earlier large writes, so that all keep to the pace of the index', async () => {
    const { index, commits, write, looked } = paced(FAR)
    const writing = [write(LARGE), write(LARGE + 1)]
    await looked()
    index.position = LARGE + 1
    await writing[0]
    await looked()
    expect(commits).toEqual([LARGE])
    index.position = 2 * LARGE + 2
    await writing[1]
    expect(commits).toEqual([LARGE, LARGE + 1])
  })

  it('does not wait behind large writes if it is small', async () => {
    const { index, commits, write, looked } = paced(FAR)
    const large = write(LARGE)
    const small = write(1)
    await looked()
    expect(commits).toEqual([])
    index.position = 1
    await small
    expect(commits).toEqual([1])
    index.position = LARGE
    await large
  })

  it('does not wait for a tenant that the index follows separately', async () => {
    const { index, commits, write, looked } = paced(FAR)
    const apart = write(LARGE + 1, APART)
    const shared = write(LARGE)
    await looked()
    index.position = LARGE
    await shared
    expect(commits).toEqual([LARGE])
    index.apart = 2 * LARGE + 1
    await looked()
    expect(commits).toEqual([LARGE])
    index.apart = 2 * LARGE + 2
    await apart
    expect(commits).toEqual([LARGE, LARGE + 1])
  })

  it.each([
    ['apart from others', APART],
    ['with others', 't'],
  ])('is committed after a write that failed because the store could not be read: %s', async (_, tenant) => {
    const { index, commits, write, looked } = paced(FAR)
    const { countAfter } = index
    index.countAfter = () => {
      throw new Error('not read')
    }
    const [first, second] = [write(LARGE, tenant), write(LARGE + 1, tenant)]
    await looked(1)
    index.isSplit = true
    index.position = index.apart = 2
    await expect(first).rejects.toThrow('not read')
    index.countAfter = countAfter
    index.milliseconds = 0
    await second
    expect(commits).toEqual([LARGE + 1])
  })
})
