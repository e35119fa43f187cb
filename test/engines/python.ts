/** Programs and libraries of PyPI. Each set has its own virtual environment. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { cacheFolder } from './engine.ts'
import { installOnce } from './install.ts'

/** Returns the folder of the environment with these packages. Its commands are in `bin`. `packages`: NAME==VERSION. */
export function pythonEnvironmentOf(packages: readonly string[]): string {
  const digest = createHash('sha256').update(packages.join()).digest('hex').slice(0, 8)
  return join(cacheFolder, `python-${packages[0]!.split('=')[0]}-${digest}`)
}

/** Installs the packages. Rejects without Python or network. Two processes must not install the same set at the same time. */
export function installPythonPackages(packages: readonly string[]): Promise<void> {
  const folder = pythonEnvironmentOf(packages)
  return installOnce(folder, [
    { command: 'python3', arguments: ['-m', 'venv', folder] },
    { command: join(folder, 'bin', 'pip'), arguments: ['install', '--quiet', ...packages] },
  ])
}
