/** The definitions a server checks against: those of its own packages, and of those that are added. */
import { packageIn } from '../adapters/filesystem/packages.ts'
import { PackagedDefinitions, type PackagesParts } from '../packages/packaged-definitions.ts'
import { PACKAGES } from './builtin-packages.ts'

export const definitionsOf = (added?: PackagesParts['added'], onDamage?: PackagesParts['onDamage']): PackagedDefinitions =>
  new PackagedDefinitions({
    own: PACKAGES.map(packageIn),
    ...(added === undefined ? {} : { added }),
    ...(onDamage === undefined ? {} : { onDamage }),
  })
