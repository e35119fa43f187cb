/** The markers in the sources and the rows of guards.txt belong together. `npm run mutants -- --kept` runs them. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { mutantOf, patternsWithoutTest, readGuards, readMarkers } from './guards.ts'
import { mutated } from './mutants.ts'
import { faultOf, mutantsIn, nameOf, readMutants } from './rows.ts'

/** Guards of data, secrets and access that the project keeps. */
const FEWEST = 140

describe('The kept guards', () => {
  const guards = readGuards()
  const markers = readMarkers()

  it('have one row for each marker, and one marker for each row', () => {
    expect(markers.map(({ name }) => name).sort()).toEqual(guards.map(({ name }) => name).sort())
    expect(guards.length).toBe(new Set(guards.map(({ name }) => name)).size)
    expect(guards.length).toBeGreaterThanOrEqual(FEWEST)
  })

  it('change the marked statement, each in its own way, so that it stays TypeScript', () => {
    const changes = guards.map((guard) => {
      const marker = markers.find(({ name }) => name === guard.name)!
      const source = readFileSync(marker.file, 'utf8')
      return `${marker.file} ${mutated(mutantOf(guard, marker, source), source)}`
    })
    expect(new Set(changes).size).toBe(guards.length)
  })

  it('name tests that exist', () => expect(patternsWithoutTest(guards.flatMap(({ tests }) => tests))).toEqual([]))
})

describe('The table of mutants', () => {
  const mutants = readMutants()

  it('changes a text that is in its file once, so that it stays TypeScript, and names tests that are there', () => {
    expect(mutants.length).toBeGreaterThan(10)
    expect(mutants.flatMap((mutant) => (faultOf(mutant) === undefined ? [] : `${nameOf(mutant)}: ${faultOf(mutant)}`))).toEqual([])
  })

  it('has each change once', () => {
    const changes = mutants.map(({ file, text, instead }) => `${file} ${text} ${instead}`)
    expect(changes).toEqual([...new Set(changes)])
  })

  it.each([
    ['a row without tests', 'a.ts\n- a\n+ b'],
    ['a row without a change', 'a.ts | test/a\n- a'],
    ['two rows without what stands instead', 'a.ts | test/a\n- a\nb.ts | test/b\n- b\n+ c'],
  ])('is refused with %s', (_, table) => expect(() => mutantsIn(table)).toThrow('table.txt:1'))

  it.each([
    ['lambdas/nowhere.ts', 'const', 'test/mutants', 'there is no such file'],
    ['test/mutants/rows.ts', 'this is not in it', 'test/architecture', 'not once'],
    ['test/mutants/rows.ts', 'const ', 'test/architecture', 'not once'],
    ['test/mutants/rows.ts', 'const known = new Map', 'test/architecture', 'Expected'],
    ['test/mutants/rows.ts', 'const known', 'test/nowhere', 'no test is called test/nowhere'],
  ])('is wrong about %s, %s, %s: %s', (file, text, test, fault) => {
    expect(faultOf({ line: 1, file, text, instead: 'const = ', tests: [test] })).toContain(fault)
  })
})

if (process.env.FHIR_TEST_FULL === '1')
  it(
    'names tests that notice: a tenth of them, another one with each commit',
    () => {
      const { status, stdout } = spawnSync(process.execPath, ['test/mutants/table-run.ts', '--tenth'], { encoding: 'utf8' })
      process.stderr.write(stdout)
      expect(stdout.split('\n').filter((line) => line.startsWith('SURVIVED'))).toEqual([])
      expect(status).toBe(0)
    },
    60 * 60_000,
  )
