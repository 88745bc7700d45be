import type { NextConfig } from 'next'

const config: NextConfig = {
  // Loaded by Node instead of being bundled, so that all parts of the server share one copy.
  serverExternalPackages: ['perdure'],
}

export default config
