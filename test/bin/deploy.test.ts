/** The files of bin/deploy work: the commands of the unit and the image start a server, and nginx forwards to it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Tree } from '../api/server.ts'
import type { TestResponse } from '../auth/authorization.ts'
import { type AuthorizationServer, allowAccess, logIn, openBrowser, redirectOf } from '../auth/browser.ts'
import { freePort } from '../engines/engine.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { type BuiltImage, buildImage } from '../fixtures/dockerfile.ts'
import { eventually } from '../fixtures/eventually.ts'
import { isProgramUsable, itRequiring } from '../fixtures/needing.ts'
import { BLOCKS, blockOf } from '../fixtures/pages.ts'
import { runFhir, runFhirWithInput } from './process.ts'

const FOLDER = 'bin/deploy'
const [UNIT, PROXY, DOCKERFILE, SETTINGS] = ['fhir.service', 'nginx.conf', 'Dockerfile', 'fhir.env'].map((name) =>
  readFileSync(join(FOLDER, name), 'utf8'),
) as [string, string, string, string]
const PAGE = readFileSync('lambdas/docs/own-machine.md', 'utf8')

/** Returns the variables of a file as systemd and Docker read it. */
const variablesOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries([...text.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]))

/** Replaces parts of a text. Throws an Error if it lacks one of them. */
function replaceAll(text: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((left, [from, to]) => {
    if (!left.includes(from)) throw new Error(`There is no ${from}`)
    return left.replaceAll(from, to)
  }, text)
}

type Started = { readonly child: ChildProcess; readonly out: () => string; readonly stop: () => Promise<number | null> }

/** Runs a command of a shell until the server prints its greeting. */
async function started(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Started> {
  const child = spawn('sh', ['-c', command], { cwd, env })
  runAtEnd(() => child.kill('SIGKILL'))
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (out += data))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  await eventually(() => out.includes('Stop it with') || child.exitCode !== null)
  if (child.exitCode !== null) throw new Error(out)
  const stop = (): Promise<number | null> => {
    child.kill('SIGTERM')
    return ended
  }
  return { child, out: () => out, stop }
}

/** Environment of a process on this machine, with the Node of this process first. */
const ENVIRONMENT = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` }

const execStart = (/^ExecStart=(.*)$/m.exec(UNIT) ?? [])[1] ?? ''

/** Runs the command of the unit, with other folders, another port and another base URL. */
const startUnit = (data: string, port: number, more: NodeJS.ProcessEnv): Promise<Started> =>
  started(`exec ${replaceAll(execStart, { '/opt/fhir': process.cwd(), '/var/lib/fhir': data })} --port ${port}`, process.cwd(), {
    ...ENVIRONMENT,
    ...variablesOf(SETTINGS),
    ...more,
  })

it('all files and commands of unit, proxy, Dockerfile and page exist', async () => {
  expect(readdirSync(FOLDER).toSorted()).toEqual(['Dockerfile', 'fhir.env', 'fhir.service', 'nginx.conf'])
  const texts = [UNIT, PROXY, DOCKERFILE, SETTINGS, PAGE].join('\n')
  const named = [
    ...[...texts.matchAll(/\/opt\/fhir\/([\w./-]*\w)/g)].map(([, path]) => path!),
    ...[...texts.matchAll(/(?<![\w/])bin\/deploy\/([\w.-]*\w)/g)].map(([, name]) => `bin/deploy/${name}`),
  ]
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((path) => !existsSync(path))).toEqual([])
  for (const copied of ['/etc/fhir.env', '/etc/systemd/system/fhir.service', '/etc/nginx/conf.d/fhir.conf'])
    expect(PAGE).toContain(` ${copied}`)
  expect(UNIT).toContain('\nEnvironmentFile=/etc/fhir.env\n')
  const commands = BLOCKS.flat().flatMap((line) =>
    [...line.matchAll(/(?:^|fhir\.js )(?:fhir )?((?:backup|token|user add)\b[^&#]*)/g)].map(([, text]) => text!),
  )
  expect(commands.length).toBeGreaterThan(3)
  for (const command of commands) {
    const words = /^(?:user )?\w+/.exec(command)![0].split(' ')
    const { code, out } = await runFhir(...words, '--help')
    expect(code).toBe(0)
    for (const [option] of command.matchAll(/--[a-z-]+/g)) expect(out).toContain(`${option} `)
  }
})

it('the page restores a backup into an empty folder that only the user of the server can read', () => {
  const root = newFolder()
  const data = join(root, 'data')
  mkdirSync(data)
  writeFileSync(join(data, 'store.db'), '')
  const block = blockOf('systemctl stop fhir && mv ').join('\n')
  const commands = replaceAll(block, { '/var/lib/fhir': data, '-o fhir -g fhir ': '' })
  const stubs = `systemctl() { echo "$1"; }; fhir() { stat -c %a ${data}; ls -A ${data}; echo "$1"; }`
  const { status, stdout, stderr } = spawnSync('sh', ['-c', `${stubs}\n${commands}`], { encoding: 'utf8' })
  expect([status, stdout, stderr]).toEqual([0, 'stop\n700\nrestore\nstart\n', ''])
  expect(existsSync(join(`${data}.before`, 'store.db'))).toBe(true)
})

describe('fhir.service', () => {
  itRequiring('systemd-analyze', isProgramUsable('systemd-analyze', '--version'))('has no error that systemd finds', () => {
    const file = join(newFolder(), 'fhir.service')
    writeFileSync(file, replaceAll(UNIT, { '/opt/fhir': process.cwd() }))
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
    expect([status, stdout, stderr]).toEqual([0, '', ''])
  })

  it('starts a server that ends with code 0 on SIGTERM', async () => {
    const data = newFolder()
    const server = await startUnit(data, await freePort(), {})
    expect(server.out()).toContain('FHIR R4 server at https://fhir.example.org/fhir\n')
    expect(server.out()).not.toContain('fhir: ')
    expect(existsSync(join(data, 'store.db'))).toBe(true)
    expect(await server.stop()).toBe(0)
  })
})

describe('The Dockerfile', () => {
  let image: BuiltImage

  beforeAll(() => {
    image = buildImage(join(FOLDER, 'Dockerfile'), '.', newFolder(), {
      ...ENVIRONMENT,
      npm_config_prefer_offline: 'true',
      npm_config_audit: 'false',
    })
  })

  it('builds an image with a server that is not root and commands that find its data', async () => {
    expect([image.from, image.user]).toEqual(['node:24-slim', 'node'])
    const port = await freePort()
    const env = { ...ENVIRONMENT, ...variablesOf(SETTINGS), BASE_URL: 'https://fhir.example.org/fhir' }
    const server = await started(`${image.command} --port ${port}`, image.path('.'), env)
    const metadata = (await (await fetch(`http://127.0.0.1:${port}/fhir/metadata`)).json()) as Tree
    expect(metadata.implementation.url).toBe('https://fhir.example.org/fhir')
    const page = await fetch(`http://127.0.0.1:${port}/fhir/explorer`, { headers: { accept: 'text/html' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
    const data = image.path('/home/node/.data')
    expect([statSync(data).mode & 0o777, existsSync(join(data, 'store.db'))]).toEqual([0o700, true])
    const token = spawnSync('node', [image.path('/opt/fhir/bin/fhir.js'), 'token'], { cwd: image.path('.'), env, encoding: 'utf8' })
    expect([token.status, token.stdout, token.stderr]).toEqual([0, expect.stringMatching(/^ey\S+\n$/), ''])
    expect(await server.stop()).toBe(0)
  })

  it('checks health by the status of GET /health', async () => {
    let status = 200
    const asked: unknown[] = []
    const server = createServer(({ method, url }, response) => {
      asked.push([method, url])
      response.writeHead(status).end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    runAtEnd(() => server.close())
    const { port } = server.address() as AddressInfo
    const check = (): Promise<number | null> => {
      const command = replaceAll(image.healthCheck, { ':8080': `:${port}` })
      const child = spawn('sh', ['-c', command], { env: ENVIRONMENT, stdio: 'ignore' })
      return new Promise((resolve) => child.once('exit', resolve))
    }
    expect(await check()).toBe(0)
    status = 503
    expect([await check(), asked]).toEqual([1, Array(2).fill(['GET', '/health'])])
    await new Promise((resolve) => server.close(resolve))
    expect(await check()).toBe(1)
  })
})

const CERTIFICATE = 'test/fixtures/tls/localhost.crt'
const PASSWORD = 'correct horse battery'

describe('nginx.conf', () => {
  itRequiring('nginx', isProgramUsable('nginx', '-v'))(
    'forwards a login, a large upload, a long URL and the files of an export',
    async () => {
      const [data, folder] = [newFolder(), newFolder()]
      const [port, plain, secure] = [await freePort(), await freePort(), await freePort()] as const
      const base = `https://localhost:${secure}/fhir`
      await startUnit(data, port, { BASE_URL: base, FHIR_EXPORT_NEEDS_ASSERTION: 'off' })
      await startProxy(folder, { port, plain, secure })
      const ask = (method: string, url: string, headers: Readonly<Record<string, string>> = {}, body = '') =>
        send(method, url, { ...headers, 'x-forwarded-for': '6.6.6.6' }, body)

      const moved = await ask('GET', `http://localhost:${plain}/fhir/metadata`)
      expect([moved.status, moved.headers.location]).toEqual([301, 'https://localhost/fhir/metadata'])
      const root = new URL(base).origin
      expect((await ask('GET', `${root}/.well-known/smart-configuration/fhir`)).status).toBe(200)

      expect((await runFhirWithInput(`${PASSWORD}\n`, 'user', 'add', 'jane', '--scope', 'user/*.rs', '--data', data)).code).toBe(0)
      const client = ['--public', '--scope', 'user/*.rs', '--redirect-uri', 'http://127.0.0.1/callback']
      expect((await runFhir('client', 'add', 'my-app', ...client, '--data', data)).code).toBe(0)
      const network: AuthorizationServer = {
        async ask(method, path, { query = '', form, headers = {} } = {}): Promise<TestResponse> {
          const type = form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }
          const text = form === undefined ? '' : new URLSearchParams(form).toString()
          return { ...(await ask(method, `${base}${path}?${new URLSearchParams(query)}`, { ...headers, ...type }, text)), body: undefined }
        },
      }
      const jane = openBrowser(network, base)
      const login = await jane.open('/auth/authorize', {
        ...{ client_id: 'my-app', response_type: 'code', redirect_uri: 'http://127.0.0.1:3000/callback', aud: base, scope: 'user/*.rs' },
        // The redirects of the login repeat it, URL-encoded.
        state: 'ü'.repeat(660),
      })
      const { sent } = redirectOf(await allowAccess(jane, await logIn(jane, login, 'jane', PASSWORD)))
      expect([sent.code, sent.state]).toEqual([expect.any(String), 'ü'.repeat(660)])
      const audit = await eventually(() => textIn(join(data, 'audit')), { until: (text) => text.includes('"address":') })
      expect([audit.includes('"address":"127.0.0.1"'), audit.includes('6.6.6.6')]).toEqual([true, false])

      const token = (await runFhir('token', '--data', data)).out.trim()
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/fhir+json', prefer: 'return=minimal' }
      const binary = (id: string, bytes: number): Promise<Answer> =>
        ask(
          'PUT',
          `${base}/Binary/${id}`,
          headers,
          JSON.stringify({ resourceType: 'Binary', id, contentType: 'text/plain', data: 'A'.repeat(bytes) }),
        )
      expect([(await binary('large', 10_000_000)).status, (await binary('larger', 17_000_000)).status]).toEqual([201, 413])
      expect((await ask('PUT', `${base}/Patient/a`, headers, '{"resourceType":"Patient","id":"a"}')).status).toBe(201)
      const ids = Array.from({ length: 5_000 }, (_, n) => `${'x'.repeat(50)}${n}`)
      const found = await ask('GET', `${base}/Patient?_id=${['a', ...ids].join()}`, headers)
      expect([found.status, JSON.parse(found.text).total]).toEqual([200, 1])

      const begun = await ask('GET', `${base}/$export?_type=Patient,Binary`, {
        ...headers,
        accept: 'application/fhir+json',
        prefer: 'respond-async',
      })
      expect([begun.status, begun.headers['content-location']]).toEqual([202, expect.stringContaining(`${base}/`)])
      const status = () => ask('GET', begun.headers['content-location']!, { authorization: headers.authorization })
      const { output } = JSON.parse((await eventually(status, { until: (each) => each.status !== 202, every: 100 })).text)
      const urls: readonly string[] = output.map(({ url }: Tree) => url)
      const files = await Promise.all(urls.map((url) => ask('GET', url)))
      expect(urls.every((url) => url.startsWith(`${base}/`))).toBe(true)
      expect(files.map(({ text }) => text.length > 10_000_000).toSorted()).toEqual([false, true])
      expect(readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => statSync(join(folder, path)).isFile()).toSorted()).toEqual([
      'error.log', 'fhir.conf', 'main.conf', 'nginx.pid',
    ]) // biome-ignore format: one line
      expect(readFileSync(join(folder, 'error.log'), 'utf8')).toBe('')
    },
  )
})

const textIn = (folder: string): string =>
  readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('')

type Ports = Readonly<Record<'port' | 'plain' | 'secure', number>>

/** Runs nginx with the configuration, on other ports and with a certificate of this machine. */
async function startProxy(folder: string, { port, plain, secure }: Ports): Promise<void> {
  const configuration = replaceAll(PROXY, {
    'listen 80;': `listen 127.0.0.1:${plain};`,
    'listen [::]:80;': '',
    'listen 443 ssl;': `listen 127.0.0.1:${secure} ssl;`,
    'listen [::]:443 ssl;': '',
    '/etc/letsencrypt/live/fhir.example.org/fullchain.pem': join(process.cwd(), CERTIFICATE),
    '/etc/letsencrypt/live/fhir.example.org/privkey.pem': join(process.cwd(), CERTIFICATE.replace('.crt', '.key')),
    'fhir.example.org': 'localhost',
    '/var/log/nginx/error.log': join(folder, 'error.log'),
    '127.0.0.1:8080': `127.0.0.1:${port}`,
  })
  writeFileSync(join(folder, 'fhir.conf'), configuration)
  const stores = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${join(folder, name)};`)
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const main = `${user} daemon off; pid ${join(folder, 'nginx.pid')}; events {} http { ${stores.join(' ')} include ${join(folder, 'fhir.conf')}; }`
  writeFileSync(join(folder, 'main.conf'), main)
  mkdirSync(join(folder, 'proxy'))
  const nginx = spawn('nginx', ['-e', join(folder, 'error.log'), '-c', join(folder, 'main.conf')], { stdio: ['ignore', 'ignore', 'pipe'] })
  runAtEnd(() => nginx.kill('SIGTERM'))
  let err = ''
  nginx.stderr.on('data', (data) => (err += data))
  await eventually(
    () =>
      nginx.exitCode !== null ||
      send('GET', `http://127.0.0.1:${plain}/`).then(
        () => true,
        () => false,
      ),
  )
  if (nginx.exitCode !== null) throw new Error(`nginx ended: ${err}`)
}

type Answer = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly text: string }

/** Sends a request to this machine and trusts its certificate. */
function send(method: string, url: string, headers: Readonly<Record<string, string>> = {}, body = ''): Promise<Answer> {
  const { protocol } = new URL(url)
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const options = { method, headers: { ...headers, ...length }, ...(protocol === 'https:' ? { ca: readFileSync(CERTIFICATE) } : {}) }
  return new Promise((resolve, reject) => {
    const request = (protocol === 'https:' ? httpsRequest : httpRequest)(url, options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk)).once('error', reject)
      response.once('end', () => {
        const flat = Object.entries(response.headers).map(([name, value]) => [name, String(value)])
        resolve({ status: response.statusCode!, headers: Object.fromEntries(flat), text: Buffer.concat(chunks).toString('utf8') })
      })
    })
    request.once('error', reject).end(body)
  })
}
