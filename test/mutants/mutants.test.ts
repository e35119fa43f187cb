/** The markers in the sources and the rows of guards.txt belong together. `npm run mutants -- --kept` runs them. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { keptMutants, patternsWithoutTest, readGuards, readMarkers } from './guards.ts'
import { applySplice } from './mutants.ts'

/** Minimum number of guards, so that they are not removed unnoticed. */
const FEWEST = 150

describe('The kept guards', () => {
  const guards = readGuards()
  const markers = readMarkers()

  it('have one row for each marker, and one marker for each row', () => {
    expect(markers.map(({ name }) => name).sort()).toEqual(guards.map(({ name }) => name).sort())
    expect(guards.length).toBe(new Set(guards.map(({ name }) => name)).size)
    expect(guards.length).toBeGreaterThanOrEqual(FEWEST)
  })

  it('change the marked statement, each in its own way, so that it stays TypeScript', () => {
    const changes = keptMutants().map(({ mutant }) => `${mutant.file} ${applySplice(mutant, readFileSync(mutant.file, 'utf8'))}`)
    expect(new Set(changes).size).toBe(guards.length)
  })

  it('name tests that exist', () => expect(patternsWithoutTest(guards.flatMap(({ tests }) => tests))).toEqual([]))
})
