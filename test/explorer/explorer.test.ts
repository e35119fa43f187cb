/** Responses of the explorer: document, files, headers and sizes. And the text of its sources, in which nothing makes markup of data. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { transform } from 'esbuild'
import type { AuthRequest } from '../../lambdas/auth/endpoint.ts'
import { type Assets, bundleExplorer } from '../../lambdas/explorer/bundle.ts'
import { type ExplorerParts, type ExplorerRequest, type ExplorerResponse, explorer } from '../../lambdas/explorer/explorer.ts'
import { explorerEndpoint } from '../../lambdas/runtime/embedded/explorer.ts'
import { itRequiring } from '../fixtures/needing.ts'

const BROWSER = 'lambdas/explorer/browser'
const MAX_COMPRESSED = 130_000
const MAX_STYLE = 8_000
/** Child processes of the process that reads it. */
const CHILDREN = '/proc/thread-self/children'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; frame-src blob:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const PARTS = { baseUrl: 'https://fhir.example/fhir', isOpen: false, version: '1.2.3', deployment: 'embedded' } as const

let assets: Assets
beforeAll(async () => {
  assets = await bundleExplorer()
})

const answer = (request: Partial<ExplorerRequest>, parts: Partial<ExplorerParts> = {}): Promise<ExplorerResponse> =>
  explorer({ ...PARTS, assets: async () => assets, ...parts })({
    method: 'GET',
    path: '/explorer',
    requestId: 'request-1',
    ...request,
  })

const expectSafe = ({ headers }: ExplorerResponse) =>
  expect(headers).toMatchObject({
    'content-security-policy': POLICY,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  })

it('An embedded server bundles the files at the first request, and again after that failed', async () => {
  const results = [() => Promise.reject(new Error('no process')), async () => assets]
  let calls = 0
  const serve = explorerEndpoint({ ...PARTS, isOpen: true }, () => results[calls++]!())
  const request = { method: 'GET', path: '/explorer', requestId: 'request-1' } as AuthRequest
  await expect(serve(request)).rejects.toThrow('no process')
  expect((await serve(request)).status).toBe(200)
  expect((await serve(request)).status).toBe(200)
  expect(calls).toBe(2)
})

itRequiring('the list of processes', existsSync(CHILDREN))('Concurrent calls bundle the same files, and leave no process behind', () => {
  const code = `
    import { readFileSync } from 'node:fs'
    import { bundleExplorerAndStop } from './lambdas/explorer/bundle.ts'
    import { eventually } from './test/fixtures/eventually.ts'
    const children = () => readFileSync('${CHILDREN}', 'utf8').trim()
    const first = bundleExplorerAndStop()
    const during = children()
    const all = [await first, ...(await Promise.all([bundleExplorerAndStop(), bundleExplorerAndStop()])), await bundleExplorerAndStop()]
    await eventually(async () => children(), { until: (left) => left === '' })
    console.log(JSON.stringify({ scripts: all.map(({ script }) => script), hasProcess: during !== '' }))`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8', timeout: 30_000 })
  expect(JSON.parse(stdout)).toEqual({ scripts: Array(4).fill(assets.script), hasProcess: true })
})

describe('the document', () => {
  it.each([
    '/explorer',
    '/explorer/',
    '/explorer/Patient/1/_history/2',
    '/explorer/callback',
    '/explorer/assets',
    '/explorer//evil.example',
  ])('is the response to %s', async (path) => {
    const response = await answer({ path })
    expectSafe(response)
    expect([response.status, response.headers['content-type'], response.headers['cache-control']]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-cache',
    ])
    expect(response.body).toBe((await answer({})).body)
  })

  it('contains nothing of the request', async () => {
    expect((await answer({ path: '/explorer/<script>alert(1)</script>' })).body).not.toContain('alert')
  })

  it('names its files below the base, the version and the deployment, and how the server is accessed', async () => {
    const { body } = await answer({}, { tenantClaim: 'tenant' })
    expect(body).toContain('<meta name="fhir-base" content="https://fhir.example/fhir">')
    expect(body).toContain('<meta name="fhir-access" content="token">')
    expect(body).toContain('<meta name="fhir-version" content="1.2.3">')
    expect(body).toContain('<meta name="fhir-deployment" content="embedded">')
    expect(body).toContain('<meta name="fhir-tenant-claim" content="tenant">')
    expect(body).toContain(`<script type="module" src="/fhir/explorer/assets/${assets.script}"></script>`)
    expect(body).toContain(`<link rel="stylesheet" href="/fhir/explorer/assets/${assets.style}">`)
    expect((await answer({}, { isOpen: true })).body).toContain('<meta name="fhir-access" content="open">')
    expect((await answer({}, { baseUrl: 'https://fhir.example' })).body).toContain(`src="/explorer/assets/${assets.script}"`)
  })

  it('has no script and no style of its own, which the policy would forbid', async () => {
    const { body } = await answer({})
    expect(body.match(/<script[^>]*>/g)).toHaveLength(1)
    expect(body).not.toMatch(/<style|\sstyle=|\son\w+=/i)
  })

  it('escapes configured values', async () => {
    const odd = `"><script>alert('&')</script>`
    const { body } = await answer({}, { baseUrl: `https://fhir.example/${odd}`, tenantClaim: odd })
    expect(body).not.toContain('<script>')
    expect(body).toContain(`content="https://fhir.example/&#34;&#62;&#60;script&#62;alert(&#39;&#38;&#39;)&#60;/script&#62;"`)
    expect(body.match(/<script/g)).toHaveLength(1)
  })
})

describe('a file', () => {
  it('is cached for a year, with the type that its name says', async () => {
    for (const [name, text] of Object.entries(assets.files)) {
      const response = await answer({ path: `/explorer/assets/${name}` })
      expectSafe(response)
      expect([response.status, response.headers['content-type'], response.headers['cache-control'], response.body === text]).toEqual([
        200,
        `${name.endsWith('.css') ? 'text/css' : 'text/javascript'}; charset=utf-8`,
        'public, max-age=31536000, immutable',
        true,
      ])
    }
  })

  it.each(['script-OLD.js', '', 'constructor', '__proto__', 'toString', '../../package.json', '..%2fexplorer.ts', 'main.ts'])(
    'is answered 404 without caching if it is unknown: %s',
    async (name) => {
      const response = await answer({ path: `/explorer/assets/${name}` })
      expectSafe(response)
      expect([response.status, response.headers['cache-control'], response.headers['content-type']]).toEqual([
        404,
        'no-store',
        'text/plain; charset=utf-8',
      ])
      if (name !== '') expect(response.body).not.toContain(name)
    },
  )
})

it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])('answers %s with 405', async (method) => {
  const response = await answer({ method })
  expectSafe(response)
  expect([response.status, response.headers.allow]).toEqual([405, 'GET'])
})

describe('the files', () => {
  it('are small', () => {
    const sizes = Object.fromEntries(Object.entries(assets.files).map(([name, text]) => [name, gzipSync(text).length]))
    expect(Object.values(sizes).reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MAX_COMPRESSED)
  })

  it('have a small style sheet, without that of the plots', async () => {
    const own = readFileSync(join(BROWSER, 'style.css'), 'utf8').replace(/^@import .*$/gm, '')
    const { code } = await transform(own, { loader: 'css', minify: true })
    expect(Buffer.byteLength(code)).toBeLessThanOrEqual(MAX_STYLE)
  })

  it('have names with a digest, which the document and the other files use', () => {
    const names = Object.keys(assets.files)
    expect(names.filter((name) => !/^[\w.-]+-[A-Z0-9]{8}\.(?:js|css)$/.test(name))).toEqual([])
    expect(names).toEqual(expect.arrayContaining([assets.script, assets.style]))
    const imported = Object.values(assets.files).flatMap((text) =>
      [...text.matchAll(/(?:from|import)\s*\(?"\.\/([^"]+)"/g)].map(([, name]) => name),
    )
    expect(imported.filter((name) => !names.includes(name!))).toEqual([])
  })

  it('are the same in every build', async () => expect(await bundleExplorer()).toEqual(assets))

  it('name no other origin that a page would load from', () => {
    const urls = Object.values(assets.files).flatMap((text) => text.match(/https?:\/\/[\w.-]+/g) ?? [])
    // Namespaces of XML in Preact, and identifiers of FHIR. The policy allows no request to them.
    expect([...new Set(urls)].filter((url) => !/w3\.org|hl7\.org|loinc\.org|unitsofmeasure\.org|snomed\.info/.test(url))).toEqual([])
  })
})

describe('the sources for the browser', () => {
  const paths = readdirSync(BROWSER, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'))
  const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '')
  const DANGEROUS =
    /\b(?:innerHTML|outerHTML|dangerouslySetInnerHTML|insertAdjacentHTML|createContextualFragment|srcdoc|DOMParser|setHTMLUnsafe)\b|\beval\b|\bnew Function\b|\bdocument\s*\.\s*write|\bsetAttribute\(|javascript:/

  it.each(paths)('make no markup or code of text: %s', (path) => {
    const text = withoutComments(readFileSync(join(BROWSER, path), 'utf8'))
    expect(DANGEROUS.exec(text)?.[0]).toBeUndefined()
  })

  it.each(paths)('set no style of an element, which the policy forbids: %s', (path) => {
    expect(/\bstyle:\s|\.style\b|cssText/.exec(withoutComments(readFileSync(join(BROWSER, path), 'utf8')))?.[0]).toBeUndefined()
  })

  it.each(paths)('post no message and open no window: %s', (path) => {
    expect(
      /\bpostMessage\b|\bwindow\.open\b|\bopen\(|'message'/.exec(withoutComments(readFileSync(join(BROWSER, path), 'utf8')))?.[0],
    ).toBeUndefined()
  })
})
