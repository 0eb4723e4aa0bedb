// Philox4x32-10 (Salmon et al., SC 2011). CPU twin: gigabar_market::rng; same key and counter, same words.
#pragma once

struct PhiloxWords {
    u32 v[4];
};

GB_DEVICE PhiloxWords philox4x32(u32 k0, u32 k1, u32 c0, u32 c1, u32 c2, u32 c3) {
    for (int round = 0; round < 10; ++round) {
        u64 p0 = (u64)0xD2511F53u * c0;
        u64 p1 = (u64)0xCD9E8D57u * c2;
        u32 n0 = (u32)(p1 >> 32) ^ c1 ^ k0;
        u32 n2 = (u32)(p0 >> 32) ^ c3 ^ k1;
        c1 = (u32)p1;
        c3 = (u32)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return PhiloxWords{{c0, c1, c2, c3}};
}

// The block `block` of stream `stream` of `seed`: words 4·block to 4·block + 3 of Philox::new(seed, stream).
GB_DEVICE PhiloxWords philox_block(u64 seed, u64 stream, u64 block) {
    return philox4x32((u32)seed, (u32)(seed >> 32), (u32)block, (u32)(block >> 32), (u32)stream, (u32)(stream >> 32));
}

// Top 24 bits as f32 in [0, 1).
GB_DEVICE f32 unit_f32(u32 word) {
    return (f32)(word >> 8) * (1.0f / 16777216.0f);
}

// 53 bits of two words as f64 in [0, 1).
GB_DEVICE f64 unit_f64(u32 high, u32 low) {
    u64 bits = (((u64)high << 32) | low) >> 11;
    return (f64)bits * (1.0 / 9007199254740992.0);
}
