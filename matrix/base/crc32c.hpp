// CRC-32C (Castagnoli), as in iSCSI (RFC 3720, appendix B.4): crc32c("123456789") == 0xe3069283.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprobench {

std::uint32_t crc32c(std::string_view bytes);

}  // namespace reprobench
