/** The server above the network with interactions of a test, and node:http below it. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { INTERACTIONS } from '../../lambdas/catalogue/catalogue.ts'
import { openAuthenticator } from '../../lambdas/http/authenticators.ts'
import { checkForwarded } from '../../lambdas/http/check-forwarded.ts'
import type { HttpRequest, HttpResponse } from '../../lambdas/http/exchange.ts'
import { type NodeServerSettings, nodeServer } from '../../lambdas/http/node-server.ts'
import { authorizingSteps } from '../../lambdas/http/pipelines/authorizing.ts'
import { downloadingSteps } from '../../lambdas/http/pipelines/downloading.ts'
import { exportingSteps } from '../../lambdas/http/pipelines/exporting.ts'
import { operatingSteps } from '../../lambdas/http/pipelines/operating.ts'
import { searchingSteps } from '../../lambdas/http/pipelines/searching.ts'
import { type WritingStepParts, writingSteps } from '../../lambdas/http/pipelines/writing.ts'
import { type Serve, server } from '../../lambdas/http/server.ts'
import { type Authenticator, admission, type PublicRead } from '../../lambdas/http/steps/authenticate.ts'
import type { Interaction } from '../../lambdas/interactions/interaction.ts'
import type { AuditLog, AuditRecord } from '../../lambdas/ports/security/audit-log.ts'

export type TestServer = {
  readonly http: Server
  readonly port: number
  readonly audited: AuditRecord[]
  readonly reported: unknown[]
  readonly close: () => Promise<void>
}

const clock = { now: () => 0, newId: () => 'new-id' }

/** Answers every interaction of the catalogue. */
const interactionsOf = (answer: Interaction): Readonly<Record<string, Interaction>> =>
  Object.fromEntries(Object.keys(INTERACTIONS).map((code) => [code, answer]))

/** Audit log that appends its records to the list. */
export const auditInto = (audited: AuditRecord[]): AuditLog => ({
  prepare: () => undefined,
  record: (entry) => void audited.push(entry),
  close: async () => undefined,
})

/** Steps of every pipeline above stubs. `parts`: in place of those of an open server, which accepts requests from any origin. */
export function stepsWith(parts: Partial<WritingStepParts> = {}) {
  const all: WritingStepParts = {
    writes: 'on',
    audit: auditInto([]),
    clock,
    origins: '*',
    maxBody: 1_000,
    loopbackOnly: true,
    authenticator: openAuthenticator,
    report: () => undefined,
    tokens: {
      seal: { seal: () => '', open: () => undefined, digest: () => '' },
      clock,
      consistency: 'eventual' as const,
      index: { caughtUp: async () => true },
      blobs: { get: async () => undefined, put: async () => undefined },
      tokensOf: () => [],
    },
    ...parts,
  }
  return {
    ...authorizingSteps(all),
    ...writingSteps(all),
    ...searchingSteps(all),
    ...exportingSteps(all),
    ...downloadingSteps(all),
    ...operatingSteps(all),
  }
}

/** `around`: breaks what stands between the network and the steps. */
export async function startTestServer(
  answer: Interaction,
  settings: Partial<NodeServerSettings> = {},
  around: (serve: Serve) => (http: HttpRequest, requestId: string) => Promise<HttpResponse> = (serve) => serve,
  authenticator: Authenticator = openAuthenticator,
  baseUrl = 'http://127.0.0.1',
  publicRead?: PublicRead,
): Promise<TestServer> {
  const audited: AuditRecord[] = []
  const reported: unknown[] = []
  const maxBody = settings.maxBody ?? 1_000
  const report = (error: unknown) => void reported.push(error)
  const steps = stepsWith({
    audit: auditInto(audited),
    maxBody,
    ...(authenticator === openAuthenticator ? { checkForwarded } : {}),
    authenticator,
    publicRead,
    report,
  })
  const site = { baseUrl, reading: () => ({}) as never }
  const serve = around(server({ interactions: interactionsOf(answer), steps, site }))
  const http = nodeServer(serve, {
    basePath: '',
    maxBody,
    maxRequests: 10,
    newRequestId: () => 'made-id',
    report,
    admit: admission({ authenticator, publicRead }),
    ...settings,
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const close = async () => {
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
  }
  return { http, port: (http.address() as AddressInfo).port, audited, reported, close }
}

export type TestConnection = {
  readonly socket: Socket
  /** All that was answered until the server closed the connection. */
  readonly ended: Promise<string>
  /** What was answered up to now. */
  readonly text: () => string
  /** Waits for an answer with this in it. */
  readonly until: (pattern: RegExp) => Promise<string>
}

/** A connection on which a test writes what it likes. */
export function openConnection(port: number, sent: string | Uint8Array = ''): TestConnection {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  socket.setEncoding('latin1')
  const ended = new Promise<string>((resolve) => {
    socket.on('data', (chunk) => (text += chunk))
    // A server that cuts off does so while something is still sent.
    socket.on('error', () => undefined)
    socket.on('end', () => socket.destroy())
    socket.on('close', () => resolve(text))
  })
  const until = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(text)) {
      if (socket.destroyed) throw new Error(`closed after ${JSON.stringify(text)}`)
      await Promise.race([once(socket, 'data'), once(socket, 'close')])
    }
    return text
  }
  socket.write(sent)
  return { socket, ended, text: () => text, until }
}

/** `PUT` of a Patient whose body has so many bytes, of which the head alone is sent. */
export const requestHeadOf = (bytes: number, id = '1', more: readonly string[] = []): string =>
  [
    `PUT /Patient/${id} HTTP/1.1`,
    'host: localhost',
    'content-type: application/fhir+json',
    `content-length: ${bytes}`,
    ...more,
    '',
    '',
  ].join('\r\n')

/** A Patient of so many bytes. */
export function patientTextOf(bytes: number, id = '1'): string {
  const text = JSON.stringify({ resourceType: 'Patient', id })
  return text + ' '.repeat(bytes - text.length)
}
