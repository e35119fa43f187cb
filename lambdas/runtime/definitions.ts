/** Definitions against which the server validates: those of the built-in packages and of the packages that operators added. */
import { packageOfFolder } from '../adapters/filesystem/packages.ts'
import { PackagedDefinitions, type PackagesParts } from '../packages/packaged-definitions.ts'
import { BUILTIN_PACKAGES } from './builtin-packages.ts'

export const definitionsOf = (added?: PackagesParts['added'], onDamage?: PackagesParts['onDamage']): PackagedDefinitions =>
  new PackagedDefinitions({
    own: BUILTIN_PACKAGES.map(packageOfFolder),
    ...(added === undefined ? {} : { added }),
    ...(onDamage === undefined ? {} : { onDamage }),
  })
