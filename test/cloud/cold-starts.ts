/** What a first request costs: a fresh process loads the bundle and answers, against one whose handler is empty. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startFunction } from './function-host.ts'
import type { Hosted } from './hosted.ts'

const ROUNDS = 2

const PATIENT = JSON.stringify({ resourceType: 'Patient', id: 'cold', active: true })

const http = (httpMethod: string, resource: string, pathParameters: object = {}, body?: string): object => ({
  httpMethod,
  resource,
  pathParameters,
  multiValueHeaders: { 'content-type': [body?.startsWith('[') ? 'application/json-patch+json' : 'application/fhir+json'] },
  ...(body === undefined ? {} : { body }),
})
const cold = { type: 'Patient', id: 'cold' }

/** `update` makes what the others ask for. */
const EVENTS: Readonly<Record<string, object>> = {
  update: http('PUT', '/{type}/{id}', cold, PATIENT),
  read: http('GET', '/{type}/{id}', cold),
  vread: http('GET', '/{type}/{id}/_history/{versionId}', { ...cold, versionId: '1' }),
  history: http('GET', '/{type}/{id}/_history', cold),
  search: http('GET', '/{type}', { type: 'Patient' }),
  create: http('POST', '/{type}', { type: 'Patient' }, PATIENT),
  patch: http('PATCH', '/{type}/{id}', cold, '[{"op":"add","path":"/active","value":true}]'),
  delete: http('DELETE', '/{type}/{id}', { type: 'Patient', id: 'nobody' }),
  bundle: http('POST', '/', {}, JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry: [] })),
  capabilities: http('GET', '/metadata'),
  fallback: http('OPTIONS', '/{type}', { type: 'Patient' }),
  indexer: { Records: [] },
}

/** Milliseconds: to load the bundle, and from the start of the process to its first answer. */
type Start = { readonly loaded: number; readonly answered: number }

export async function coldStarts({ functions }: Hosted): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fhir-empty-'))
  const empty = join(folder, 'empty.cjs')
  writeFileSync(empty, 'exports.handler = async () => ({ statusCode: 200, body: "" })')
  try {
    const base = await quickest(empty, {}, {})
    const rows = [`| (empty) | | ${round(base.loaded)} ms | ${round(base.answered)} ms | 1.0 |`]
    for (const [name, event] of Object.entries(EVENTS)) {
      const { bundle, environment } = functions[name]!
      const { loaded, answered } = await quickest(bundle, environment, event)
      const size = Math.round(statSync(bundle).size / 1_000)
      rows.push(`| ${name} | ${size} kB | ${round(loaded)} ms | ${round(answered)} ms | ${(answered / base.answered).toFixed(1)} |`)
    }
    return ['| function | bundle | loads in | first answer | against an empty handler |', '|---|---|---|---|---|', ...rows]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const round = (ms: number): string => ms.toFixed(0)

async function quickest(bundle: string, environment: Readonly<Record<string, string>>, event: object): Promise<Start> {
  const starts: Start[] = []
  for (let i = 0; i < ROUNDS; i++) starts.push(await start(bundle, environment, event))
  return starts.reduce((a, b) => (a.answered < b.answered ? a : b))
}

function start(bundle: string, environment: Readonly<Record<string, string>>, event: object): Promise<Start> {
  const began = performance.now()
  const child = startFunction(bundle, environment)
  let loaded = 0
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('exit', () => reject(new Error(`${bundle} ended`)))
    child.on('message', (message: { readonly loaded?: number; readonly error?: string }) => {
      if (message.loaded !== undefined) {
        loaded = message.loaded
        return
      }
      const answered = performance.now() - began
      child.removeAllListeners('exit').kill('SIGKILL')
      if (message.error === undefined) resolve({ loaded, answered })
      else reject(new Error(message.error))
    })
    child.send({ id: 1, event: JSON.stringify(event), remaining: 29_000 })
  })
}
