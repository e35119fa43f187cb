/** The commands and queries of lambdas/export/duckdb/README.md, on the DuckDB of PyPI. https://pypi.org/project/duckdb-cli/ */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, describe, expect } from '@jest/globals'
import { installPythonPackages, pythonEnvironmentOf } from '../engines/python.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { isProgramUsable, itRequiring } from '../fixtures/needing.ts'
import { blockOf } from '../fixtures/pages.ts'
import { type RunningServer, startTokenServer } from './process.ts'

const PACKAGES = ['duckdb-cli==1.5.6']
const duckdb = join(pythonEnvironmentOf(PACKAGES), 'bin', 'duckdb')

await installPythonPackages(PACKAGES).catch((error: Error) => process.stderr.write(`DuckDB cannot be installed: ${error.message}\n`))

const itWithDuckDb = itRequiring('duckdb-cli', isProgramUsable(duckdb, '--version'))

const QUERIES = [...readFileSync('lambdas/export/duckdb/README.md', 'utf8').matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(
  ([, query]) => query!,
)
const VIEWS = { patient: 'Patient', observation: 'Observation', encounter: 'Encounter', explanation_of_benefit: 'ExplanationOfBenefit' }
const PATIENT = '58c297c4-d684-4677-8024-01131d93835e'

describe('The recipe for DuckDB', () => {
  const folder = newFolder()
  let server: RunningServer
  let headers: Readonly<Record<string, string>>

  beforeAll(async () => {
    const data = join(newFolder(), 'data')
    server = await startTokenServer('--sample', '--data', data)
    // A checkout as the commands expect it: npm, the sources and DuckDB.
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    const npm = `#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift\nexec '${process.execPath}' '${resolve('bin/fhir.js')}' "$@" --from '${server.base}' --data '${data}'\n`
    writeFileSync(join(bin, 'npm'), npm)
    chmodSync(join(bin, 'npm'), 0o755)
    symlinkSync(resolve('lambdas'), join(folder, 'lambdas'))
    symlinkSync(pythonEnvironmentOf(PACKAGES), join(folder, '.duckdb'))
    const token = spawnSync(process.execPath, ['bin/fhir.js', 'token', '--data', data], { encoding: 'utf8' }).stdout.trim()
    headers = { authorization: `Bearer ${token}` }
  })

  const rowsOf = (query: string): readonly Record<string, unknown>[] => {
    const { status, stdout, stderr } = spawnSync(duckdb, ['-json', 'fhir.duckdb', '-c', query], { cwd: folder, encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, ''])
    return stdout.trim() === '' ? [] : JSON.parse(stdout)
  }

  const refresh = (): void => {
    const lines = blockOf('python3 -m venv .duckdb').slice(1).join('\n')
    const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}` }
    const { status, stderr } = spawnSync('sh', ['-e', '-c', lines], { cwd: folder, env, encoding: 'utf8' })
    expect([status, status === 0 ? '' : stderr]).toEqual([0, ''])
  }

  const ask = (method: string, path: string, body?: object) =>
    fetch(`${server.base}${path}`, {
      method,
      headers: { ...headers, 'content-type': 'application/json-patch+json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })

  const expectServerTotals = async (): Promise<void> => {
    for (const [view, type] of Object.entries(VIEWS)) {
      const { total } = (await (await ask('GET', `/${type}?_summary=count`)).json()) as { total: number }
      expect([view, rowsOf(`SELECT count(*) AS total FROM ${view}`)]).toEqual([view, [{ total }]])
    }
  }

  itWithDuckDb(
    'follows changes and deletions, and changes nothing if it is repeated',
    async () => {
      refresh()
      expect(rowsOf('SELECT count(*) AS total FROM patient')).toEqual([{ total: 3 }])
      const [observation] = rowsOf(`SELECT id FROM observation WHERE patient_id = '${PATIENT}' ORDER BY id LIMIT 1`)
      expect((await ask('PATCH', `/Patient/${PATIENT}`, [{ op: 'replace', path: '/birthDate', value: '1971-04' }])).status).toBe(200)
      expect((await ask('DELETE', `/Observation/${observation!.id}`)).status).toBe(204)
      refresh()
      expect(rowsOf(`SELECT birth_date FROM patient WHERE id = '${PATIENT}'`)).toEqual([{ birth_date: '1971-04' }])
      expect(rowsOf(`SELECT * FROM observation WHERE id = '${observation!.id}'`)).toEqual([])
      await expectServerTotals()
      refresh()
      await expectServerTotals()
    },
    120_000,
  )

  itWithDuckDb(
    'fills the columns of every view, and answers the queries of the page',
    () => {
      refresh()
      for (const view of [...Object.keys(VIEWS), 'condition']) {
        const [filled = {}] = rowsOf(`SELECT count(COLUMNS(*)) FROM ${view}`)
        const empty = Object.entries(filled).flatMap(([column, count]) => (count === 0 ? [column] : []))
        // No sample patient has died.
        expect([view, empty.filter((column) => column !== 'deceased')]).toEqual([view, []])
      }
      expect(QUERIES).toHaveLength(4)
      for (const query of QUERIES.slice(0, 3)) expect(rowsOf(query).length).toBeGreaterThan(2)
      rowsOf(QUERIES[3]!)
      expect(existsSync(join(folder, 'observation.parquet'))).toBe(true)
    },
    120_000,
  )
})
