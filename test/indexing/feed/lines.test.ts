/** The lines in which an index follows a feed. */
import { describe, expect, it } from '@jest/globals'
import { FeedLines, positionOf, readPositions, writePositions } from '../../../lambdas/indexing/feed/lines.ts'

const linesAt = (all: number, apart: readonly (readonly [string, number])[] = []) => new FeedLines({ all, apart: new Map(apart) })

/** The notes of an index, as an earlier version of the server may have left them. */
function notesOf(given: Readonly<Record<string, string | number>> = {}) {
  const notes = new Map(Object.entries(given))
  return { notes, note: (name: string) => notes.get(name), setNote: (name: string, value: string | number) => void notes.set(name, value) }
}

describe('positions', () => {
  it('are those of the shared line for a tenant without a line of its own', () => {
    const { positions } = linesAt(7, [
      ['behind', 3],
      ['ahead', 9],
    ])
    expect(['behind', 'ahead', 'other', undefined].map((tenant) => positionOf(positions, tenant))).toEqual([3, 9, 7, 3])
    expect(positionOf(linesAt(5).positions)).toBe(5)
  })

  it('are noted so that an earlier version of the server misses no version', () => {
    const index = notesOf()
    writePositions(index, linesAt(7, [['behind', 3]]).positions)
    expect(index.notes.get('position')).toBe(3)
    expect(readPositions(index)).toEqual({ all: 7, apart: new Map([['behind', 3]]) })
  })

  it('are noted so that an earlier server version sees that the index has documents', () => {
    const index = notesOf()
    writePositions(index, linesAt(0).positions)
    expect(index.notes.get('position')).toBe(0)
    writePositions(index, linesAt(7, [['behind', 0]]).positions)
    expect(index.notes.get('position')).toBe(0.5)
    expect(readPositions(index)).toEqual({ all: 7, apart: new Map([['behind', 0]]) })
  })

  it('are at least as far as an earlier version of the server has followed', () => {
    const index = notesOf()
    writePositions(index, linesAt(7, [['behind', 3]]).positions)
    index.setNote('position', 5)
    expect(readPositions(index)).toEqual({ all: 7, apart: new Map([['behind', 5]]) })
    index.setNote('position', 20)
    expect(readPositions(index)).toEqual({ all: 20, apart: new Map([['behind', 20]]) })
  })

  it('need one note only, while all tenants share a line', () => {
    const index = notesOf({ position: 4 })
    writePositions(index, linesAt(6).positions)
    expect([...index.notes]).toEqual([['position', 6]])
    writePositions(index, linesAt(8, [['behind', 6]]).positions)
    writePositions(index, linesAt(9).positions)
    expect(readPositions(index)).toEqual({ all: 9, apart: new Map() })
    expect(readPositions(notesOf())).toEqual({ all: 0, apart: new Map() })
  })
})

describe('lines', () => {
  it('are due if versions may be missing, the oldest turn first', () => {
    const lines = linesAt(5, [['idle', 5]])
    expect(lines.due(5)).toEqual([])
    expect(lines.due(9)).toEqual([undefined])
    lines.advance(undefined, 9)
    expect(lines.due(9)).toEqual(['idle'])
    lines.separate('new', 20)
    expect(lines.due(12)).toEqual(['idle', 'new', undefined])
    lines.advance('idle', 9)
    expect(lines.due(12)).toEqual(['new', undefined])
    lines.advance('new', 15)
    expect(lines.due(12)).toEqual([undefined, 'new'])
    lines.advance('new', 20)
    expect(lines.due(12)).toEqual([undefined])
  })

  it('join where they meet, except for retained ones', () => {
    const lines = linesAt(5, [
      ['costly', 5],
      ['done', 5],
      ['behind', 4],
    ])
    lines.join((tenant) => tenant === 'costly')
    expect(lines.tenants).toEqual(['costly', 'behind'])
    expect([lines.positionOf('done'), lines.positionOf('behind')]).toEqual([5, 4])
  })

  it('move with the shared line if their tenants have no versions', () => {
    const lines = linesAt(5, [
      ['behind', 4],
      ['same', 5],
      ['ahead', 7],
      ['far', 9],
      ['busy', 5],
    ])
    lines.advance(undefined, 8)
    lines.carry(5, 8, ['busy', 'other'])
    expect(lines.positions.apart).toEqual(new Map(Object.entries({ behind: 4, same: 8, ahead: 8, far: 9, busy: 5 })))
  })

  it('do not join before they reach the position that a search waits for', () => {
    const lines = linesAt(5)
    lines.separate('waited', 7)
    lines.join(() => false)
    expect(lines.tenants).toEqual(['waited'])
    lines.advance('waited', 7)
    lines.advance(undefined, 7)
    lines.join(() => false)
    expect(lines.tenants).toEqual([])
  })

  it('start at the shared line, and only once', () => {
    const lines = linesAt(5)
    lines.separate('a')
    lines.advance(undefined, 8)
    lines.separate('a', 7)
    expect([lines.positionOf('a'), lines.positionOf(undefined)]).toEqual([5, 8])
  })
})
