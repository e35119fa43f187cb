/** The commands of the pages work as printed. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { TestResponse } from '../auth/authorization.ts'
import { type AuthorizationServer, allowAccess, formsOf, logIn, openBrowser, redirectOf } from '../auth/browser.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { isProgramUsable, itRequiring } from '../fixtures/needing.ts'
import { BLOCKS, blockOf } from '../fixtures/pages.ts'
import { type PageShell, pageShellOf } from './page-shell.ts'
import { type RunningServer, runFhir, startTokenServer } from './process.ts'

/** Single commands that .ci/run, the tests of a deployment, stage.test.ts or model.test.ts run. */
const ELSEWHERE = [
  ...['npm ci --omit=dev && npm start -- --sample', 'npm ci && npm test', 'npm ci && npm run deploy', 'curl --aws-sigv4 '],
  'npm run -s model -- ',
  ...['npm run fhir -- client add reporting ', 'npm run fhir -- client add admin ', 'npm run fhir -- user add me '],
]
/** Commands that restore a stage in an AWS account. The tests of templates and engines cover them in part. */
const IN_AN_ACCOUNT = ['for machine in $(aws cloudformation ', 'before=$(node -p ', 'aws dynamodb describe-table ']
const HERE = [
  'TOKEN=$(npm run -s fhir -- token)',
  'curl -H "Authorization: Bearer $TOKEN" -X PUT ',
  'npm run -s fhir -- export ',
  'npm run -s fhir -- client add reporting ',
  'npm run -s fhir -- client add my-app ',
  'npm run -s fhir -- audit --patient ',
  'npm run -s fhir -- usage --year ',
  'npm run -s fhir -- backup --all ',
  'npm run -s fhir -- backup monday.db',
  'npm run -s fhir -- user add me ',
]
/** Commands that install, restore or upgrade a server. deploy.test.ts checks them. */
const INSTALLATION = ['useradd --system ', 'fhir() {', 'docker build ', 'systemctl stop fhir && mv ', 'systemctl stop fhir && fhir ']
/** Commands of a stage that versions-backup.test.ts and the cloud run execute. */
const ON_A_STAGE = ['npm run -s fhir -- backup s3://']
/** Blocks that payer-page.test.ts runs. */
const OF_A_PAYER = [
  'npm ci --omit=dev && FHIR_PAYER=',
  'npm run -s fhir -- package add hl7.fhir.us.carin-bb',
  'TOKEN=$(npm run -s fhir -- token --client ',
]
/** Blocks of several lines that duckdb.test.ts runs. */
const IN_DUCKDB = ['python3 -m venv .duckdb ']

it('each command block of the pages is run here or elsewhere', () => {
  const beginnings = [...ELSEWHERE, ...IN_AN_ACCOUNT, ...HERE, ...INSTALLATION, ...ON_A_STAGE, ...OF_A_PAYER, ...IN_DUCKDB]
  expect(BLOCKS.map(([first]) => beginnings.findIndex((each) => first!.startsWith(each))).toSorted((a, b) => a - b)).toEqual(
    beginnings.map((_, i) => i),
  )
  for (const each of ELSEWHERE) expect([each, blockOf(each).length]).toEqual([each, 1])
})

it('the README has fewer than 130 lines', () => expect(readFileSync('README.md', 'utf8').split('\n').length).toBeLessThan(130))

it('the layout of CONTRIBUTING names all folders', () => {
  const named = [...readFileSync('.github/CONTRIBUTING.md', 'utf8').matchAll(/^\| `([\w/-]+)` \|/gm)].map(([, folder]) => folder)
  const rooms = readdirSync('lambdas', { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const there = [...rooms.map(({ name }) => `lambdas/${name}`), 'bin', 'lib', 'search-mappings', 'test']
  expect(named.toSorted()).toEqual(there.toSorted())
})

it('the README names the platforms for which the packages include Node', () => {
  const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const brought = Object.keys(optionalDependencies).flatMap((name) => /^node-linux-(\w+)$/.exec(name)?.slice(1) ?? [])
  expect(readFileSync('README.md', 'utf8')).toContain(`Linux (${brought.toSorted().toReversed().join(', ')})`)
  expect(Object.keys(optionalDependencies).filter((name) => name.includes('darwin'))).toEqual([])
})

const SAMPLE = '58c297c4-d684-4677-8024-01131d93835e'
const itWithCurl = itRequiring('curl', isProgramUsable('curl', '--version'))

describe('By the commands of the pages', () => {
  let server: RunningServer
  let printed: PageShell

  beforeAll(async () => {
    const data = newFolder()
    server = await startTokenServer('--sample', '--data', data)
    printed = pageShellOf(server, data)
  })

  itWithCurl('the first calls answer', async () => {
    const [token = '', ...calls] = blockOf('TOKEN=$(npm run -s fhir -- token)')
    const answers = await Promise.all(calls.map(async (call) => JSON.parse(await printed([token, call]))))
    expect(answers.map(({ resourceType }) => resourceType)).toEqual(['Patient', 'Bundle', 'Bundle'])
  })

  itWithCurl('the first writes succeed: a PUT and a POST with an id', async () => {
    const [token = ''] = blockOf('TOKEN=$(npm run -s fhir -- token)')
    const writes = blockOf('curl -H "Authorization: Bearer $TOKEN" -X PUT ')
    const printedStatuses: string[] = []
    for (const write of writes) printedStatuses.push(await printed([token, `${write} -o /dev/null -w '%{http_code}'`]))
    expect(printedStatuses).toEqual(['201', '201'])
  })

  it('everything is exported, and then only changes', async () => {
    const folder = newFolder()
    const lines = blockOf('npm run -s fhir -- export ').map((line) => line.replaceAll(/(?<=--(?:to|key|new-key) )/g, `${folder}/`))
    const counted = (text: string): readonly number[] =>
      [...text.matchAll(/^(\d+|No) resources?/gm)].map(([, count]) => (count === 'No' ? 0 : Number(count)))
    const [all, first] = counted(await printed(lines))
    expect(all).toBeGreaterThan(1_000)
    expect(first).toBe(all)
    expect(counted(await printed(lines.slice(-1)))).toEqual([0])
    expect(readdirSync(join(folder, 'everything'))).toEqual(expect.arrayContaining(['Patient.ndjson', 'manifest.json']))
  })

  itWithCurl('a program gets a token', async () => {
    const [add = '', ask = ''] = blockOf('npm run -s fhir -- client add reporting ')
    const [, secret = ''] = /client_secret {2}(\S+)/.exec(await printed([add])) ?? []
    expect(JSON.parse(await printed([ask], '', { SECRET: secret }))).toMatchObject({ token_type: 'Bearer', scope: 'system/Observation.rs' })
  })

  const network: AuthorizationServer = {
    async ask(method, path, { query = '', form, headers = {} } = {}): Promise<TestResponse> {
      const body = form === undefined ? {} : { body: new URLSearchParams(form) }
      const url = `${server.base}${path}?${new URLSearchParams(query)}`
      const response = await fetch(url, { method, headers, redirect: 'manual', ...body })
      return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text(), body: undefined }
    },
  }

  itWithCurl('an app and a user get a token, from the app or a health record', async () => {
    const [add = '', user = '', app = '', standalone = '', exchange = '', launch = '', opened = ''] = blockOf(
      'npm run -s fhir -- client add my-app ',
    )
    expect(await printed([add])).toBe('The client my-app is registered\n')
    expect(await printed([user], 'correct horse battery\n')).toBe('The user jane is added\n')
    const jane = openBrowser(network, server.base)
    const open = async (lines: readonly string[]) => jane.open('/auth/authorize', new URL(await printed(lines)).search)
    const tokens = async (page: TestResponse) => {
      const { uri, sent } = redirectOf(await allowAccess(jane, page))
      expect(uri).toBe('http://127.0.0.1:3000/callback')
      return JSON.parse(await printed([exchange], '', { CODE: sent.code! }))
    }
    const picker = await logIn(jane, await open([app, standalone]), 'jane', 'correct horse battery')
    const choosing = formsOf(picker).findIndex(
      ({ action, fields }) => action.endsWith('/authorize') && !fields.some(([name]) => name === 'decision'),
    )
    const consent = await jane.submit(picker, [['chosen_patient', `default/${SAMPLE}`]], choosing)
    const first = await tokens(consent)
    expect(first).toMatchObject({ patient: SAMPLE, scope: 'launch/patient patient/*.rs' })
    expect(await tokens(await open([app, launch, opened]))).toMatchObject({ patient: SAMPLE, scope: 'launch patient/*.rs' })
    const headers = { authorization: `Bearer ${first.access_token}` }
    expect((await fetch(`${server.base}/Patient/${SAMPLE}`, { headers })).status).toBe(200)
  })

  it('a person is added, and logs in to the explorer without consent', async () => {
    expect(await printed(blockOf('npm run -s fhir -- user add me '), 'correct horse battery\n')).toBe('The user me is added\n')
    const me = openBrowser(network, server.base)
    const asked = {
      ...{ response_type: 'code', client_id: 'explorer', redirect_uri: `${server.base}/explorer/callback`, aud: server.base },
      ...{ scope: 'openid fhirUser user/*.cruds system/admin', code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' },
    }
    const page = await logIn(me, await me.open('/auth/authorize', asked), 'me', 'correct horse battery')
    const { uri, sent } = redirectOf(me.visited.at(-2)!)
    expect([page.status, uri, sent.code]).toEqual([200, asked.redirect_uri, expect.any(String)])
  })

  it('the requests that touched a patient are printed, and saved as JSON', async () => {
    const file = join(newFolder(), 'records.ndjson')
    const lines = blockOf('npm run -s fhir -- audit --patient ').map((line) =>
      line.replace(' 1 ', ` ${SAMPLE} `).replace('records.ndjson', file),
    )
    // The server writes its records within a fifth of a second.
    await eventually(async () => (await printed(lines)).includes(' bundle '))
    const records = readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)) // biome-ignore format: one line
    const loaded = expect.objectContaining({ interaction: 'bundle', patients: expect.arrayContaining([`Patient/${SAMPLE}`]) })
    expect(records).toEqual(expect.arrayContaining([loaded]))
  })

  it('the transfers of a year are counted', async () => {
    expect(await printed(blockOf('npm run -s fhir -- usage --year '))).toMatch(/^PERIOD .*\n2026 (?:.*\n)+\{"year":2026,/)
  })

  it('resources are saved and restored', async () => {
    const file = join(newFolder(), 'monday.db')
    const lines = blockOf('npm run -s fhir -- backup monday.db').map((line) => line.replace('monday.db', file))
    expect(await printed(lines)).toMatch(/ is saved in .*\n.* is restored/)
  })

  it('everything is saved, and restored into another folder', async () => {
    const folder = newFolder()
    const lines = blockOf('npm run -s fhir -- backup --all ').map((line) =>
      line.replaceAll(/\b(?:monday|new)$|\bmonday\b/g, `${folder}/$&`),
    )
    expect(await printed(lines)).toMatch(/ is saved in .*\n.* is restored in .*new: /)
  })
})

const COMMANDS = ['start', 'token', 'launch', 'load', 'export', 'audit', 'backup', 'restore', 'accept-clock']
const BELOW = [
  ...['add', 'list', 'update', 'rotate', 'remove'].map((each) => ['client', each]),
  ...['add', 'list', 'password', 'remove'].map((each) => ['user', each]),
  ...['list', 'rotate'].map((each) => ['keys', each]),
]

it.each([...COMMANDS.map((each) => [each]), ...BELOW])('the help of %s %s ends with an example of existing options', async (...names) => {
  const command = names.filter((each) => typeof each === 'string')
  const { code, out } = await runFhir(...command, '--help')
  const [options = '', examples = ''] = out.split('For example:\n')
  const own = examples.split('\n').filter((line) => line.includes(` -- ${command.join(' ')}`) || line.includes('npm start '))
  expect([code, own.length > 0]).toEqual([0, true])
  for (const [option] of own
    .join('\n')
    .replaceAll(/ -- /g, ' ')
    .matchAll(/--[a-z-]+/g))
    expect(options).toContain(`${option} `)
})
