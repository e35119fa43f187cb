/** Packages that `npm ci --omit=dev` installs, by the lock file: everything that a start needs, and no test packages. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

type Locked = { readonly dev?: boolean; readonly link?: boolean; readonly hasInstallScript?: boolean }

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { readonly packages: Readonly<Record<string, Locked>> }
const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
const installed = Object.entries(lock.packages).filter(([path, { dev, link }]) => path !== '' && dev !== true && link !== true)

/** Returns the bytes of the files of a package, without nested packages. */
const sizeOf = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return sum + (entry.name === 'node_modules' ? 0 : sizeOf(path))
    return sum + (entry.isFile() ? statSync(path).size : 0)
  }, 0)

/** Files for the operator of an AWS stage, which is deployed with the development packages. */
const DEPLOYMENT = ['bin/app.ts', 'bin/deploy-check.ts', 'bin/stage-settings.ts', 'bin/commands/redrive.ts']

const sources = ['lambdas', 'bin'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => /\.[jt]s$/.test(path) && !DEPLOYMENT.includes(path)),
)

describe('The installation without development packages', () => {
  it('has every package that the server and the command line import', () => {
    const missing = sources.flatMap((path) => {
      const code = readFileSync(path, 'utf8').replace(/^import type .*|^\} from .* with \{ type.*/gm, '')
      const names = [...code.matchAll(/(?:^(?:import|export|\}) .*?from |^import |\bimport\()'([^'.#/][^']*)'/gm)].map(([, name]) => name!)
      const packages = names.filter((name) => !isBuiltin(name)).map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'))
      return packages.filter((name) => !(name in manifest.dependencies)).map((name) => `${path}: ${name}`)
    })
    expect(sources.length).toBeGreaterThan(500)
    expect(missing).toEqual([])
  })

  it('has no emulator, and less than 245 MiB of files', () => {
    expect(installed.map(([path]) => nameOf(path)).filter((name) => name.includes('dynoxide'))).toEqual([])
    const bytes = installed.filter(([path]) => existsSync(path)).reduce((sum, [path]) => sum + sizeOf(path), 0)
    expect(bytes).toBeGreaterThan(20 * 2 ** 20)
    expect(bytes).toBeLessThan(245 * 2 ** 20)
  })
})

// npm warns of install scripts that are neither allowed nor denied.
it('package.json denies the install script of every package that has one', () => {
  const scripts = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript === true)
  expect(manifest.allowScripts).toEqual(Object.fromEntries(scripts.map(([path]) => [nameOf(path), false])))
})
