/** How who may read what a server keeps gets a token of it. */
import { chmodSync, copyFileSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { ADDRESS, type Command, heardFromServer } from '../adapters/filesystem/command-socket.ts'
import type { Asked, Authorization } from './authorization.ts'

/** A server's data folder; of one that keeps nothing, the port it listens on. */
export type Place = { readonly folder: string; readonly port: number }

/** undefined: no server runs there. Error: why it gives none. */
export async function tokenOfServer({ folder, port }: Place, asked: Asked): Promise<string | undefined> {
  const argument = JSON.stringify(asked)
  const passing = folderOfPort(port)
  return (await heardFromServer(folder, 'token', argument)) ?? (isOurs(passing) ? heardFromServer(passing, 'token', argument) : undefined)
}

/** What a server does for it. */
export const tokenCommands = ({ issue }: Pick<Authorization, 'issue'>): Readonly<Record<'token', Command>> => ({
  token: (argument) => issue(JSON.parse(argument) as Asked),
})

/** Lets commands find a server that keeps nothing, by the port it listens on. Undone by what is returned. Error where that is not possible. */
export function announce(dataFolder: string, port: number): () => void {
  const folder = folderOfPort(port)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!isOurs(folder)) throw new Error(`${folder} is not ours alone`)
  copyFileSync(join(dataFolder, ADDRESS), join(folder, ADDRESS))
  chmodSync(join(folder, ADDRESS), 0o600)
  return () => rmSync(folder, { recursive: true, force: true })
}

const folderOfPort = (port: number): string => join(tmpdir(), `fhir-${userInfo().uid}-port-${port}`)

/** Anybody may make a folder there: what somebody else says is not heard. */
function isOurs(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (found === undefined || !found.isDirectory()) return false
  return process.platform === 'win32' || (found.uid === userInfo().uid && (found.mode & 0o077) === 0)
}
