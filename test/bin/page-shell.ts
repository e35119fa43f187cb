/** A shell that runs the commands of the pages as they are printed, against a server of a test. */
import { spawn } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { newFolder } from '../fixtures/at-end.ts'

/** Returns the output of lines that one shell runs. `input`: text typed into it. `more`: variables of its environment. */
export type PageShell = (lines: readonly string[], input?: string, more?: Readonly<Record<string, string>>) => Promise<string>

/** `base`: base URL of the server, in place of the one in the pages. `data`: its data folder. */
export function pageShellOf({ base }: { readonly base: string }, data: string): PageShell {
  const path = join(newFolder(), 'npm')
  writeFileSync(
    path,
    `#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift\n[ "$1" = export ] && set -- "$@" --from '${base}'\ncase "$*" in *--data*) ;; *) set -- "$@" --data '${data}' ;; esac\nexec '${process.execPath}' bin/fhir.js "$@"\n`,
  )
  chmodSync(path, 0o755)
  return (lines, input = '', more = {}) => {
    const text = lines.join('\n').replaceAll('http://127.0.0.1:8080', new URL(base).origin).replaceAll('curl ', 'curl -s ')
    const env = { ...process.env, PATH: `${dirname(path)}${delimiter}${process.env.PATH}`, ...more }
    const child = spawn('sh', ['-e', '-c', text], { env })
    let out = ''
    child.stdout.on('data', (data) => (out += data))
    child.stderr.on('data', (data) => (out += data))
    // A shell that only prints can have ended before the input is written.
    child.stdin.on('error', () => undefined).end(input)
    return new Promise((resolve) => child.on('close', () => resolve(out)))
  }
}
