/** Findings of cdk-nag that are accepted, and why. */
import type { Stack } from 'aws-cdk-lib'
import type { Settings } from './settings.ts'

export function acceptedInData(_stack: Stack, _settings: Settings): void {}
export function acceptedInService(_stack: Stack, _settings: Settings): void {}
