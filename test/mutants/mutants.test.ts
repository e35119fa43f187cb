/** The table of mutants is true while the code moves; the long tests run a tenth of it. */
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import { faultOf, mutantsIn, nameOf, readMutants } from './rows.ts'

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
