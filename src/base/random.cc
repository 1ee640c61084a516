#include "base/random.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace takt::internal {

RandomSeed NewRandomSeed() {
    RandomSeed seed;
    TAKT_CHECK(RAND_bytes(seed.data(), static_cast<int>(seed.size())) == 1);
    return seed;
}

RandomSeed SeedOf(std::uint64_t number) {
    RandomSeed seed{};
    std::memcpy(seed.data(), &number, sizeof number);
    return seed;
}

struct Random::Cipher {
    EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
    Cipher() { TAKT_CHECK(context != nullptr); }
    ~Cipher() { EVP_CIPHER_CTX_free(context); }
};

Random::Random(const RandomSeed& seed) : cipher_(std::make_unique<Cipher>()), used_(pool_.size()) {
    const std::array<std::uint8_t, 16> counter{};
    TAKT_CHECK(EVP_EncryptInit_ex(cipher_->context, EVP_aes_128_ctr(), nullptr, seed.data(),
                                  counter.data()) == 1);
}

Random::~Random() = default;

void Random::Refill() {
    static constexpr std::array<std::uint8_t, 1024> kZeros{};
    int written = 0;
    TAKT_CHECK(EVP_EncryptUpdate(cipher_->context, pool_.data(), &written, kZeros.data(),
                                 static_cast<int>(kZeros.size())) == 1);
    TAKT_CHECK(static_cast<std::size_t>(written) == pool_.size());
    used_ = 0;
}

void Random::Fill(std::span<std::uint8_t> bytes) {
    while (!bytes.empty()) {
        if (used_ == pool_.size()) Refill();
        const std::size_t count = std::min(bytes.size(), pool_.size() - used_);
        std::memcpy(bytes.data(), pool_.data() + used_, count);
        used_ += count;
        bytes = bytes.subspan(count);
    }
}

std::uint64_t Random::Next() {
    std::uint64_t value;
    Fill({reinterpret_cast<std::uint8_t*>(&value), sizeof value});
    return value;
}

std::uint64_t Random::Below(std::uint64_t bound) {
    TAKT_CHECK(bound > 0);
    // The high half of a 64x64 multiplication; the bias is below 2^-32 for every bound we use.
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
}

double Random::Fraction() {
    return static_cast<double>(Next() >> 11) * 0x1.0p-53;
}

}  // namespace takt::internal
